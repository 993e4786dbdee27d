// Routes of this room.
#pragma once

#include <vector>

#include "api/images/context.h"
#include "http/route_table.h"

namespace corral::api {

// GET images/files/{name}
void add_image_files(std::vector<http::Route>& routes, ImagesContext& context);

}  // namespace corral::api
