// Changes the fields of a form (multipart/form-data) on its way to a program: the model's name is replaced, fields are
// removed or set. The rest passes unchanged. Of a part with a file, only its head is held in memory. Without fields to
// remove or set, everything behind the model's name passes as it comes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "http/body.h"

namespace corral::backends {

// What stands before each part: "\r\n--boundary". Empty: the content type is not that of a form.
std::string delimiter_of(std::string_view content_type);
// The name of the field whose head this is. Empty: a file, or a head without a name.
std::string form_field_of(std::string_view head);

struct FormChanges {
  std::string model;                            // the new value of "model"; empty: it stays
  std::vector<std::string> strip = {};          // fields that are removed
  std::map<std::string, std::string> set = {};  // fields that are added or replaced: JSON; a text loses its quotes
};

class ChangedForm final : public http::BodySource {
 public:
  // `form` must outlive it.
  ChangedForm(http::BodySource& form, std::string_view content_type, FormChanges changes);

  // Reads until nothing more is to be changed, if that comes early: then the total length is known. Errors: those of
  // `form`.
  async::Task<Result<>> find();

  async::Task<Result<std::string_view>> read() override;
  void abort() override { form_.abort(); }
  std::optional<std::uint64_t> length() const override;

 private:
  // outside: in the value of a part that passes, or before the first part; dropping: in one that doesn't.
  enum class State { outside, in_head, in_value, dropping, passing };
  // Moves finished bytes from `held_` to `ready_`.
  void advance();
  bool skip_value();
  bool read_head();
  bool replace_value();
  void put(std::string_view text);
  void pass(std::size_t bytes);
  void drop(std::size_t bytes);
  bool is_dropped(std::string_view field) const;
  async::Task<Result<>> pull();

  http::BodySource& form_;
  const std::string delimiter_;  // "\r\n--boundary"
  const FormChanges changes_;
  State state_;
  std::string held_;
  std::string ready_, given_;
  std::int64_t longer_ = 0;  // change of the length
  bool begun_ = false;       // the extra line end at the beginning was removed
  bool is_set_ = false;      // the fields of `set` were written
  bool ended_ = false;
};

}  // namespace corral::backends
