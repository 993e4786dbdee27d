// Endpoint lora-adapters, and the `lora` field of requests.
#include "engine_server/adapters.h"

#include <fmt/format.h>

#include "engine_server/engine_server_impl.h"
#include "json/writer.h"
#include "protocol/errors.h"

namespace corral::engine_server {

using dialects::error_response;
using http::Response;

Result<engine::AdapterScales> adapter_scales(const engine::ModelFacts& facts, std::span<const protocol::Adapter> given,
                                             std::string_view param) {
  engine::AdapterScales scales(facts.adapter_files.size(), 0);
  for (const auto& adapter : given) {
    if (adapter.id >= scales.size()) {
      return fail(
          protocol::errc::bad_value,
          fmt::format(
              "'{}' has the adapter {}, but this model was loaded with {}: they count from 0, see GET lora-adapters",
              param, adapter.id, scales.size()),
          std::string(param));
    }
    scales[adapter.id] = adapter.scale;
  }
  return scales;
}

Response EngineServer::Impl::adapters() const {
  const auto& files = service.facts().adapter_files;
  const auto scales = service.adapter_scales();
  std::string text;
  json::Writer out(text);
  out.begin_array();
  for (std::size_t i = 0; i < files.size(); ++i) {
    out.begin_object().field("id", i).field("path", files[i].path).field("scale", scales[i]);
    out.field("task_name", files[i].task_name).field("prompt_prefix", files[i].prompt_prefix).end_object();
  }
  out.end_array();
  return Response::json(200, std::move(text));
}

async::Task<Response> EngineServer::Impl::set_adapters(http::Request request) {
  auto body = co_await request.body.read_all(options.max_body_bytes);
  if (!body) co_return error_response(body.error());
  const auto given = protocol::parse_adapters(*body);
  if (!given) co_return error_response(given.error());
  const auto scales = adapter_scales(service.facts(), *given, "adapters");
  if (!scales) co_return error_response(scales.error());
  if (auto set = service.set_adapter_scales(*scales); !set) co_return error_response(set.error());
  co_return Response::json(200, R"({"success":true})");
}

}  // namespace corral::engine_server
