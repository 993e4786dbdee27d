// Verifies files of models on a separate thread, for one caller at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "async/offload.h"
#include "async/task.h"
#include "base/mutex.h"
#include "models/catalog.h"
#include "models/hash/content_hash.h"
#include "models/hash/verifier.h"

namespace corral::api {

// Progress of a verification. On any thread.
class VerifyProgress {
 public:
  struct View {
    std::string model;
    std::string file;
    std::uint64_t done = 0, total = 0;  // bytes of all files
  };
  View view() const;
  void begin(std::uint64_t total);
  void at(const ModelName& model, const std::filesystem::path& file);
  void add(std::uint64_t bytes);
  void stop() { stop_ = true; }
  bool stopped() const { return stop_; }

 private:
  mutable Mutex mutex_;
  View view_ GUARDED_BY(mutex_);
  std::atomic<bool> stop_ = false;
};

struct VerifiedModel {
  ModelName name;
  std::vector<models::FileCheck> files;
};

// On any loop; loops must outlive the verification. The pool needs one thread of its own, and finish() must be called
// on it before the verifier is destroyed.
class FileVerifier {
 public:
  FileVerifier(std::filesystem::path record, async::ThreadPool& pool)
      : record_(record), verifier_(std::move(record), models::hash_file), pool_(pool) {}

  // The file with the recorded hashes (models/hash/kept_hashes.h).
  const std::filesystem::path& record() const { return record_; }

  // Hashes each file of the models once; a file that several models share is reported for the first one. Cancelling
  // stops it within a MiB. With `quarantine` damaged files are renamed. Errors: errc::verification_runs; system errors
  // if there is no thread or the record can't be written.
  async::Task<Result<std::vector<VerifiedModel>>> run(std::vector<models::Catalog::Model> models, bool quarantine,
                                                      std::shared_ptr<VerifyProgress> progress);

 private:
  using Verified = Result<std::vector<VerifiedModel>>;
  // On the pool.
  Verified work(const std::vector<models::Catalog::Model>& models, bool quarantine, VerifyProgress& progress);

  const std::filesystem::path record_;
  models::Verifier verifier_;  // used by the caller that set `taken_`
  async::ThreadPool& pool_;
  std::atomic<bool> taken_ = false;
};

}  // namespace corral::api
