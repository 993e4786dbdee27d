// The stored data that requests refer to, and the data to store of them. Plain values; documents are texts of JSON. A
// dialect stores nothing itself: it returns its demands, and gets the stored data.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace corral::dialects {

// Input of a reader in addition to the body.
struct Before {
  std::string id = {};  // of the request
  bool keeps = false;   // storage is available
  // the answer can be continued in the same connection without storage: StorageRequest::input is always set
  bool remembers = false;
  bool found = false;  // the members below are set
  // the items that the request continues, oldest first: lists of items, or answers
  std::vector<std::string> earlier = {};
  std::map<std::string, std::string, std::less<>> items = {};  // items that it refers to, by id
};

// The demands of a body on storage.
struct StorageRequest {
  std::string previous = {};                 // the response that it continues; empty: none
  std::string conversation = {};             // the conversation that it belongs to; empty: none
  std::vector<std::string> references = {};  // ids of items, each once
  bool store = false;                        // store the answer
  // the client set `store`; else the request is answered without storage if none is available
  bool insists = false;
  bool background = false;  // answer in the background
  std::string input = {};   // the request's own items, each with an id; empty if nothing will read them

  bool looks_back() const { return !previous.empty() || !conversation.empty() || !references.empty(); }
};

}  // namespace corral::dialects
