// Replaces the model's name in a form (multipart/form-data). The rest passes unchanged. Only the bytes before the name
// are held in memory: few, if the client sends the name before its files.
#pragma once

#include <string>
#include <string_view>

#include "http/body.h"

namespace corral::backends {

class RenamedForm final : public http::BodySource {
 public:
  // `form` must outlive it. `name` empty: it passes unchanged.
  RenamedForm(http::BodySource& form, std::string_view content_type, std::string name);

  // Reads up to the name if it comes early: then the total length is known. Errors: those of `form`.
  async::Task<Result<>> find();

  async::Task<Result<std::string_view>> read() override;
  void abort() override { form_.abort(); }
  std::optional<std::uint64_t> length() const override;

 private:
  enum class State { outside, in_head, in_value, passing };
  // Moves finished bytes from `held_` to `ready_`.
  void advance();
  async::Task<Result<>> pull();

  http::BodySource& form_;
  const std::string delimiter_;  // "\r\n--boundary"
  const std::string name_;
  State state_;
  std::string held_;
  std::string ready_, given_;
  std::int64_t longer_ = 0;  // change of the length
  bool begun_ = false;       // the extra line end at the beginning was removed
  bool ended_ = false;
};

}  // namespace corral::backends
