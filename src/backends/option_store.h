// What is saved for each model: the options it is loaded with, and whether it is pinned. A JSON file
// (recipe_options.json) of one object per model:
//
//   {"tiny-llama": {"ctx_size": 2048, "auto_evict": true, "pinned": true}}
//
// Sparse: only what somebody has saved, as it was given. Keys that are none of ours are kept as they are. A model may
// stand under its name with one of models::kNamePrefixes, as other servers write it; what is saved for it from then on
// stands under its name alone.
//
// Reads the file once, when it is made; one that isn't JSON is put aside, and the log says where. Each change writes
// it, whole, before it counts; that takes a fraction of a millisecond. Used on one loop.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "backends/load_options.h"
#include "base/named.h"

namespace corral::backends {

class OptionStore {
 public:
  // An empty path: everything is forgotten at the end.
  explicit OptionStore(std::filesystem::path file = {});

  using All = std::map<ModelName, LoadOptions>;
  All all() const;
  // Nothing set where nothing is saved.
  LoadOptions of(const ModelName& model) const;
  // Errors: errc::not_saved; then nothing has changed.
  Result<> save(const ModelName& model, const LoadOptions& options);

  std::set<ModelName> pins() const;
  bool pinned(const ModelName& model) const;
  Result<> pin(const ModelName& model, bool pinned);

 private:
  struct Entry {
    json::Object others;  // members that are none of ours
    LoadOptions options;
    bool pinned = false;

    bool empty() const { return others.empty() && options == LoadOptions() && !pinned; }
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  void read();
  static Entry read_entry(const std::string& model, const json::Object& members);
  Entries::const_iterator find(const ModelName& model) const;
  Result<> replace(const ModelName& model, Entry entry);
  Entry entry(const ModelName& model) const;

  const std::filesystem::path file_;
  Entries entries_;
};

}  // namespace corral::backends
