// Causes of failure in this folder. The message of the Error that carries one names the repository or the file, and the
// way on.
#pragma once

#include "base/error.h"

namespace corral::downloads {

enum class errc {
  bad_name = 1,        // no name of a model that could be fetched
  model_not_found,     // no such repository, or it is private
  revision_not_found,  // the repository has no such branch, tag or commit
  file_not_found,      // the repository has no such file, or none of that quantisation
  gated,               // its owner wants conditions accepted first
  token_refused,       // the token is wrong, or gives no access
  offline,             // nothing may go out
  unreachable,         // no connection, after all tries
  upstream_failed,     // the server answers with failures, after all tries
  upstream_malformed,  // the server's answer makes no sense
  rate_limited,        // the server wants a rest that is longer than anybody waits
  disk_full,           // there is too little room; carries need and have
  disk_failed,         // another failure of the disk
  wrong_content,       // the bytes aren't those that the repository promised
  in_use,              // another program works on the same file
};

}  // namespace corral::downloads

CORRAL_DECLARE_ERRC(corral::downloads);
