#include "engine/pooled/pooled_turns.h"

#include <algorithm>
#include <utility>

namespace corral::engine {

void PooledTurns::add(std::shared_ptr<PooledState> job) {
  const std::string& tag = job->job().client;
  std::list<Request> request;
  request.push_back({.job = std::move(job)});
  auto client = std::ranges::find(clients_, tag, &Client::tag);
  if (client == clients_.end()) client = clients_.insert(client, Client{tag, {}});
  client->requests.splice(client->requests.end(), request);
}

std::vector<PooledTurns::Request*> PooledTurns::first(std::size_t max) {
  struct Next {
    std::list<Request>::iterator request, end;
  };
  std::vector<Next> clients;
  for (Client& client : clients_) {
    if (clients.size() == max) break;
    clients.push_back({client.requests.begin(), client.requests.end()});
  }
  std::vector<Request*> requests;
  while (!clients.empty() && requests.size() < max) {
    for (Next& next : clients) {
      if (requests.size() == max) break;
      requests.push_back(&*next.request++);
    }
    std::erase_if(clients, [](const Next& next) { return next.request == next.end; });
  }
  return requests;
}

void PooledTurns::go_round() noexcept {
  std::list<Client> clients_behind;
  for (auto client = clients_.begin(); client != clients_.end();) {
    const auto here = client++;
    // A client whose first request did not fit moves to the front, however often its other requests fit beside those of
    // others.
    const bool first_had_turn = here->requests.front().had_turn;
    std::list<Request> behind;
    for (auto request = here->requests.begin(); request != here->requests.end();) {
      const auto one = request++;
      if (std::exchange(one->had_turn, false)) behind.splice(behind.end(), here->requests, one);
    }
    if (behind.empty()) continue;
    here->requests.splice(here->requests.end(), behind);
    if (first_had_turn) clients_behind.splice(clients_behind.end(), clients_, here);
  }
  clients_.splice(clients_.end(), clients_behind);
  forget_over();
}

void PooledTurns::forget_over() noexcept {
  for (Client& client : clients_) client.requests.remove_if([](const Request& request) { return request.over(); });
  clients_.remove_if([](const Client& client) { return client.requests.empty(); });
}

void PooledTurns::fail_all(const Error& error) noexcept {
  for (Client& client : clients_) {
    for (const Request& request : client.requests) request.job->set_failed(error);
  }
  clients_.clear();
}

}  // namespace corral::engine
