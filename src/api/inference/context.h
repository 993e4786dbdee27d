// Objects of this room.
#pragma once

#include <atomic>
#include <filesystem>
#include <memory>
#include <span>

#include "api/base/context.h"
#include "api/files/context.h"
#include "dialects/dialect.h"
#include "http/spool.h"

namespace corral::api {

struct InferenceContext {
  CoreContext& core;
  BodyContext& bodies;
  FilesContext& files;
  // The one model hasn't been loaded yet.
  std::atomic<bool> given_is_loading{core.one_model};
  bool models_autoload = true;  // a request may load its model
  // Dialects of the clients; they outlive this object.
  std::span<const dialects::Dialect* const> dialects = dialects::all();
  // Spools uploaded files until they are forwarded.
  std::shared_ptr<http::SpoolRoom> uploads =
      std::make_shared<http::SpoolRoom>(std::filesystem::temp_directory_path(), 0, nullptr);
};

}  // namespace corral::api
