#include "residency/core/downsizer.h"

namespace corral::residency {

void Downsizer::downsize(Server& server, const Step& step) {
  lifecycle_.move(server, ServerState::downsizing);
  server.downsize_asked = true;
  server.downsize_told = step.time();
  server.downsize_crossed = false;
  step.act(Downsize{server.id});
}

void Downsizer::give_up_overdue(const Step& step) {
  for (const auto& [id, server] : state_.servers) {
    if (!server->downsize_asked || step.time() - server->downsize_told < state_.settings.memory_wait) continue;
    if (server->state == ServerState::downsizing) refused(*server);
    if (server->state != ServerState::evicting) tickets_.reclaimed(*server, Reclaimed::nothing, step);
  }
}

// After a request that came meanwhile it counts as whole. One that was told to stop meanwhile has been downsized all
// the same, and gives only the rest with its end.
bool Downsizer::end(ServerId id, bool done, const Step& step) {
  Server* server = state_.find(id);
  if (server == nullptr || !server->downsize_asked) return false;
  server->downsize_asked = false;
  const bool stays = serves(server->state) && !server->downsize_crossed;
  if (done && !server->downsize_crossed) {
    if (server->state == ServerState::ready) lifecycle_.move(*server, ServerState::downsizing);  // it was given up
    if (stays) lifecycle_.move(*server, ServerState::downsized);
    server->shrunk = true;
    ++state_.downsizes;
    const PoolBytes freed = state_.memory.bytes(server->spec->memory, MemoryPart::dynamic);
    state_.memory.give_up(freed, step.time() + state_.settings.memory_wait);
  } else if (stays) {
    refused(*server);
  }
  // Tickets that wait for an instance which stops wait for its end.
  const auto what = stays && done ? Reclaimed::downsized : Reclaimed::nothing;
  if (server->state != ServerState::evicting) tickets_.reclaimed(*server, what, step);
  return true;
}

void Downsizer::refused(Server& server) {
  if (server.state == ServerState::downsizing) lifecycle_.move(server, ServerState::ready);
  server.downsize_refused = server.used_nth;
}

}  // namespace corral::residency
