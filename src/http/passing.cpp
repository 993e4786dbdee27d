#include "http/passing.h"

#include "http/message.h"

namespace corral::http {

bool is_form(std::string_view content_type) {
  auto type = content_type.substr(0, content_type.find(';'));
  while (type.starts_with(' ') || type.starts_with('\t')) type.remove_prefix(1);
  while (type.ends_with(' ') || type.ends_with('\t')) type.remove_suffix(1);
  return same_name(type, "multipart/form-data");
}

}  // namespace corral::http
