// The frames of joining. Pure. Errors of the readers: malformed.
#pragma once

#include "mesh/link/frame.h"
#include "mesh/members/join_token.h"

namespace corral::mesh {

struct JoinAsk {
  std::uint16_t minor = 0;
  MeshId mesh;
  TokenProof proof;
};
Frame to_frame(const JoinAsk& ask);
Result<JoinAsk> read_ask(std::string_view payload);

Frame to_frame(const Founding& founding);
Result<Founding> read_founding(std::string_view payload);

// Causes without a number arrive as `overloaded`: try again later.
Frame refusal(const Error& why);
Error read_refusal(std::string_view payload);

}  // namespace corral::mesh
