// The sending end of a copy. Sends only models that the CopyProvider offers; reads each requested range from the disk,
// on a thread for files.
//
// Belongs to the mesh's loop.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "async/offload.h"
#include "async/timer.h"
#include "mesh/copy/manifest.h"
#include "mesh/net/stream.h"

namespace corral::mesh {

// A model that may be copied. Immutable once offered; safe on every thread.
struct OfferedModel {
  Manifest manifest;
  std::vector<std::filesystem::path> paths;  // in the order of the manifest's files
  std::string list;                          // the manifest, signed by this node, as it is sent
};
using OfferedModelPtr = std::shared_ptr<const OfferedModel>;

// The models that peers may copy from this node.
class CopyProvider {
 public:
  virtual ~CopyProvider() = default;
  // Errors: not_offered, with a sentence for people: the model isn't there, isn't hashed yet, or may not be copied.
  virtual async::Task<Result<OfferedModelPtr>> find(Sha256 content) = 0;
};

struct CopySourceOptions {
  Millis list{900'000};  // limit for making a list, which may need to read the files
  Millis idle{60'000};   // a stream without a request for so long is ended
  Millis stall{30'000};  // a stream whose peer reads nothing for so long, too
};

// Serves one stream to its end. The references outlive it. Returns how many bytes of files were sent. Errors:
// link_closed, malformed, timed_out.
async::Task<Result<std::uint64_t>> serve_copy(std::unique_ptr<Stream> stream, CopyProvider& provider,
                                              async::ThreadPool& files, async::Timers& timers,
                                              CopySourceOptions options = CopySourceOptions());

// The list of a model's files, from their hashes with all steps. Errors: malformed, for unusable names and hashes
// without steps; too_large.
Result<Manifest> make_manifest(std::string model, std::string source, const std::vector<std::filesystem::path>& paths,
                               bool has_projector, std::vector<models::FileHash> hashes);

// Reads all files. For a thread for files. Calls `go_on` now and then; nothing if it returned false. Errors: the
// system's own.
Result<std::optional<std::vector<models::FileHash>>> read_hashes(const std::vector<std::filesystem::path>& paths,
                                                                 const std::function<bool()>& go_on);

}  // namespace corral::mesh
