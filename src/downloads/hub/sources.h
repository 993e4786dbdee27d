// A name of any kind: its listing, and the files to fetch.
#pragma once

#include "downloads/hub/choice.h"
#include "downloads/hub/hub.h"
#include "downloads/names.h"

namespace corral::downloads {

// Asks the hub, the server of the URL, or Ollama's registry. Errors: those of Hub::list, look_at and list_ollama.
async::Task<Result<Listing>> list_source(Hub& hub, SourceName source);

// Chooses from the listing of that source. Errors: those of choose().
Result<Variant> choose_in(const Listing& listing, const SourceName& source);

}  // namespace corral::downloads
