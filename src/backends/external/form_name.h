// A form (multipart/form-data) on its way to a server that has another name for the model. Everything else passes as it
// comes; of the form no more is held than what comes before the name, and that is a few bytes with clients that send
// it before their files.
#pragma once

#include <string>
#include <string_view>

#include "http/body.h"

namespace corral::backends {

class RenamedForm final : public http::BodySource {
 public:
  // `form` must outlive it. `name` empty: it passes as it is.
  RenamedForm(http::BodySource& form, std::string_view content_type, std::string name);

  // Reads as far as the name, if that comes soon: then the length of the whole is known. Errors: those of `form`.
  async::Task<Result<>> find();

  async::Task<Result<std::string_view>> read() override;
  void abort() override { form_.abort(); }
  std::optional<std::uint64_t> length() const override;

 private:
  enum class State { outside, in_head, in_value, passing };
  // Moves what may go on from `held_` to `ready_`.
  void advance();
  async::Task<Result<>> pull();

  http::BodySource& form_;
  const std::string delimiter_;  // "\r\n--boundary"
  const std::string name_;
  State state_;
  std::string held_;
  std::string ready_, given_;
  std::int64_t longer_ = 0;  // by so many bytes
  bool begun_ = false;       // the line end in front of all has been taken away again
  bool ended_ = false;
};

}  // namespace corral::backends
