// What requests want of what was kept, and what is to be kept of them. Plain values; documents are texts of JSON. Who
// keeps them isn't a dialect's business: it says what it wants, and is given what there is.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace corral::dialects {

// What a reader is given beside the body.
struct Before {
  std::string id = {};                    // of the request
  bool keeps = false;                     // there is somebody who keeps things
  bool found = false;                     // what follows has been looked for
  std::vector<std::string> earlier = {};  // what the request goes on from, oldest first: lists of items, or answers
  std::map<std::string, std::string, std::less<>> items = {};  // those that it refers to, by id
};

// What a body says of keeping.
struct StorageRequest {
  std::string previous = {};                 // the answer that it goes on from; empty: none
  std::string conversation = {};             // that it is a turn of; empty: none
  std::vector<std::string> references = {};  // ids of items, each once
  bool store = false;                        // the answer is to be kept
  bool insists = false;                      // the client said so; else it is answered without where it can't be
  bool background = false;                   // nobody waits for the answer
  std::string input = {};  // a list of the items that came with it, each with an id; empty where nothing is kept

  bool looks_back() const { return !previous.empty() || !conversation.empty() || !references.empty(); }
};

}  // namespace corral::dialects
