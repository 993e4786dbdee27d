// Answers with the files of the page: gzip if the client takes it, ETag, and headers that allow the page nothing but
// its own files and this server. Pure functions.
#pragma once

#include "console/pack.h"
#include "http/handler.h"

namespace corral::console {

// True for a client that shows HTML: the page is only for these at "/".
bool is_browser(const http::RequestHead& head);
// Whether an Accept-Encoding allows gzip.
bool takes_gzip(std::string_view accept_encoding);

// The file as an answer to GET or HEAD: 200, or 304 if the client has it.
http::Response serve(const File& file, const http::RequestHead& head);
// To the path with a slash at its end, from which the relative addresses of the page start.
http::Response with_slash(std::string_view path);

}  // namespace corral::console
