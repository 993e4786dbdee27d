// Makes models of files: joins shards, attaches projectors, turns links into aliases, assigns names and labels, and
// gives the reason for every other file. Pure: uses paths and facts, no files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/error.h"
#include "models/catalog.h"
#include "models/gguf/gguf_facts.h"
#include "models/scan/file_scan.h"

namespace corral::models {

// What came with a model of Ollama's registry.
struct BesideModel {
  std::string parameters = {};  // the text of its parameters
  std::filesystem::path adapter = {};
};

// A file and its header's facts, or the error of reading them. Its pointers must outlive the call.
struct KnownFile {
  FoundFile file;
  const Result<GgufFacts>* facts;
  const BesideModel* beside = nullptr;  // of a model of Ollama's registry
};

// `files` in the order of the walk; `problems` of the walk are taken over.
Catalog assemble(const std::vector<KnownFile>& files, std::vector<Problem> problems);

}  // namespace corral::models
