// Causes of failure in this folder. The Error's message names the repository or the file, and what to do.
#pragma once

#include "base/error.h"

namespace corral::downloads {

enum class errc {
  bad_name = 1,        // no valid name of a downloadable model
  model_not_found,     // no such repository, or it is private
  revision_not_found,  // the repository has no such branch, tag or commit
  file_not_found,      // the repository has no such file, or none of that quantisation
  gated,               // its owner requires that conditions are accepted first
  token_refused,       // the token is wrong, or gives no access
  offline,             // requests are disabled
  unreachable,         // no connection, after all attempts
  upstream_failed,     // the server returns failures, after all attempts
  upstream_malformed,  // the server's response is invalid
  rate_limited,        // the server asks for a longer pause than allowed
  disk_full,           // too little space; carries need and have
  disk_failed,         // another failure of the disk
  wrong_content,       // the bytes don't match the repository's hash or size
  in_use,              // another program works on the same file
};

}  // namespace corral::downloads

CORRAL_DECLARE_ERRC(corral::downloads);
