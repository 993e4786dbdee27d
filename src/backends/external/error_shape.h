// Errors of programs in OpenAI's shape, which all clients read. Pure.
#pragma once

#include <string>
#include <string_view>

namespace corral::backends {

// {"error":{"message","type","code","param"}} for an answer with an error status. Known shapes of the body are
// OpenAI's, {"error":"text"}, {"message":"text"} and FastAPI's "detail"; other texts become the message (cut after 500
// bytes). `type` and `code` are the program's own if they are texts. `program`: the program, for an empty body.
std::string openai_error(unsigned status, std::string_view body, std::string_view program);

}  // namespace corral::backends
