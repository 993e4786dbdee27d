// Sends a form with a file (multipart/form-data, RFC 7578). The file is read meanwhile, so its size doesn't matter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/unique_fd.h"
#include "cli/server/server_api.h"
#include "http/body.h"

namespace corral::cli {

// The body of a form. Its boundary has 128 random bits, so no field and no file contains it.
class FormBody final : public http::BodySource {
 public:
  // Errors: usage: the file isn't there, can't be read, or is no regular file.
  static Result<std::unique_ptr<FormBody>> open(const Form& form);

  std::string content_type() const { return "multipart/form-data; boundary=" + boundary_; }
  // Errors: usage: the file can't be read, or has become shorter.
  async::Task<Result<std::string_view>> read() override;
  std::optional<std::uint64_t> length() const override { return before_.size() + file_size_ + after_.size(); }

 private:
  enum class Next { before, file, after, end };
  FormBody(const Form& form, UniqueFd file, std::uint64_t file_size);
  Result<std::string_view> read_file();

  const std::string name_;  // of the file, for messages
  const UniqueFd file_;
  const std::uint64_t file_size_;
  const std::string boundary_;
  std::string before_, after_;  // the file
  Next next_ = Next::before;
  std::uint64_t left_;  // of the file
  std::string piece_;
};

}  // namespace corral::cli
