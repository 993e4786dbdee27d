// Objects of this room: the models of this disk and of other nodes, and what is known of their files.
#pragma once

#include "api/files/disk_catalog.h"
#include "api/files/file_verifier.h"
#include "api/files/file_watch.h"
#include "fleet/base/remote_models.h"
#include "models/hash/content_hash.h"

namespace corral::api {

struct FilesContext {
  DiskCatalog& models;
  async::Timers& timers;
  const fleet::RemoteModels* elsewhere = nullptr;  // models of other nodes; null: none
  const models::ContentHashes* hashes = nullptr;   // of files; null: no hashes are computed
  FileVerifier* verifier = nullptr;                // null: files can't be verified over HTTP
  const FileWatch* watch = nullptr;                // null: changes of files are not detected
};

}  // namespace corral::api
