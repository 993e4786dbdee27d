// Words of commands in messages, so that a user can copy the command: a model's name may have spaces.
#pragma once

#include <string>
#include <string_view>

namespace corral {

// `text` as one word for a shell: in quotes if it has other characters than letters, digits and -_./:=@+,
std::string shell_word(std::string_view text);

}  // namespace corral
