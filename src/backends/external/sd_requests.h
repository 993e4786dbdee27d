// Requests for images in the format of stable-diffusion.cpp's server (ImageRequests::sd_cpp). It has OpenAI's paths,
// but knows only prompt, n, size, output_format and output_compression. Its own parameters are JSON in a tag of the
// prompt, so a prompt of a client must not have such a tag. It would make the same image for all requests without
// `seed`, and for all of one second with -1. So corral chooses seeds: `any_seed` is that of a request without one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "http/body.h"

namespace corral::backends {

// Thread-safe. 31 bits, as those of clients.
std::uint32_t random_seed();

// A body of images/generations. `body`: a JSON object. Pure.
std::string sd_body(std::string_view body, std::uint32_t any_seed);

// A form of images/edits or images/variations; an edit without a prompt is a variation. Its fields come before its
// files, which pass as they come.
class SdForm final : public http::BodySource {
 public:
  // `form` must outlive it.
  SdForm(http::BodySource& form, std::string_view content_type, std::uint32_t any_seed);

  // Reads the fields. Errors: those of `form`; bad_value if they are no form, or too large.
  async::Task<Result<>> find();

  async::Task<Result<std::string_view>> read() override;
  void abort() override { form_.abort(); }
  std::optional<std::uint64_t> length() const override;

 private:
  using Fields = std::map<std::string, std::string, std::less<>>;
  // Moves behind one field. False: more bytes are needed, or `is_found_`.
  bool next_field(Fields& fields);
  std::string written(const Fields& fields) const;

  http::BodySource& form_;
  const std::string delimiter_;  // "\r\n--boundary"
  const std::uint32_t any_seed_;
  std::string held_ = "\r\n";  // the bytes so far
  std::size_t at_ = 0;         // in held_: the delimiter before the next part
  std::int64_t longer_ = 0;    // change of the length
  bool is_found_ = false;      // a file or the end follows
  std::string given_;
};

}  // namespace corral::backends
