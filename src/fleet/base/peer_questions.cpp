#include "fleet/base/peer_questions.h"

#include <fmt/format.h>

#include "mesh/identity/bytes.h"
#include "mesh/identity/errors.h"

namespace corral::fleet {

using async::Task;

Task<bool> PeerQuestions::wait(std::shared_ptr<Question> question) {
  co_await question->answered.wait();
  co_return true;
}

Task<Result<std::string>> PeerQuestions::ask(mesh::NodeId node, std::function<mesh::Frame(std::uint64_t number)> make) {
  if (!peers_.is_up(node)) co_return fail(mesh::errc::unreachable, "no link: run `corral mesh doctor`", "node");
  if (paces_.size() >= kMaxPaces) paces_.clear();
  if (!paces_.try_emplace(node, kPace).first->second.take(timers_.now()))
    co_return fail(mesh::errc::too_many, "too many requests: try again in a few seconds", "node");
  const auto question = std::make_shared<Question>(executor_);
  const std::pair key(node, ++last_);
  struct Asked {
    PeerQuestions& questions;
    std::pair<mesh::NodeId, std::uint64_t> key;
    ~Asked() { questions.questions_.erase(key); }
  };
  questions_.emplace(key, question);
  const Asked asked{*this, key};
  peers_.send(node, make(key.second));
  auto waiting = wait(question);
  const auto in_time = co_await async::with_timeout(timers_, kPatience, std::move(waiting));
  if (!in_time) {
    co_return fail(
        mesh::errc::timed_out,
        fmt::format("no answer within {} s; the node may run an older version of corral", kPatience.count() / 1000),
        "node");
  }
  co_return std::move(*question->payload);
}

void PeerQuestions::answered(const mesh::NodeId& from, std::string_view payload) {
  mesh::ByteReader in(payload);
  const auto number = in.number<std::uint64_t>();
  const auto found = questions_.find({from, number});
  if (!in.ok() || found == questions_.end() || found->second->payload) return;
  found->second->payload.emplace(payload);
  found->second->answered.set();
}

std::string shown_text(std::string_view text, std::size_t limit) {
  std::string clean;
  for (const char c : text.substr(0, limit)) clean += static_cast<unsigned char>(c) < ' ' || c == 127 ? '?' : c;
  return clean;
}

}  // namespace corral::fleet
