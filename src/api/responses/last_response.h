// The latest response of a WebSocket that isn't stored. Later messages of the same connection can continue it; it ends
// with the connection, or with a message that continues it and fails. On the connection's loop.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/handler.h"

namespace corral::api {

class LastResponse final : public http::Session {
 public:
  static constexpr std::size_t kMaxBytes = 1u << 20;

  bool is(std::string_view id) const { return !id.empty() && id == id_; }
  // Its whole conversation, oldest first: lists of items, or answers. The current message continues it.
  const std::vector<std::string>& take_up() {
    continued_ = true;
    return texts_;
  }
  // Conversations above kMaxBytes aren't remembered: a connection may be open for days.
  void remember(std::string id, std::vector<std::string> texts) {
    std::size_t bytes = 0;
    for (const auto& text : texts) bytes += text.size();
    const bool fits = bytes <= kMaxBytes;
    id_ = fits ? std::move(id) : std::string();
    texts_ = fits ? std::move(texts) : std::vector<std::string>();
  }

  // Around each message.
  void begin() { continued_ = false; }
  void failed() {
    if (continued_) remember({}, {});
  }

 private:
  std::string id_;  // empty: there is none
  std::vector<std::string> texts_;
  bool continued_ = false;
};

}  // namespace corral::api
