// Saved options and pins of models. A JSON file (recipe_options.json) with one object per model:
//
//   {"tiny-llama": {"ctx_size": 2048, "auto_evict": true, "pinned": true}}
//
// It has only saved options, with their original texts. Unknown keys are preserved. The entry of a model may have a
// name with one of models::kNamePrefixes, as other servers write it; the next save uses the plain name.
//
// Reads the file once, in the constructor; a file that isn't JSON is renamed, and the log has the new name. Each change
// writes the whole file before it takes effect; that takes a fraction of a millisecond. Used on one loop.
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
  // An empty path: nothing is saved to disk.
  explicit OptionStore(std::filesystem::path file = {});

  using All = std::map<ModelName, LoadOptions>;
  All all() const;
  // Empty options if nothing is saved.
  LoadOptions of(const ModelName& model) const;
  // Errors: errc::not_saved; then nothing has changed.
  Result<> save(const ModelName& model, const LoadOptions& options);

  std::set<ModelName> pins() const;
  bool pinned(const ModelName& model) const;
  Result<> pin(const ModelName& model, bool pinned);

 private:
  struct Entry {
    json::Object others;  // unknown members
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
