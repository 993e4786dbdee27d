#include "mesh/hints/serf_config.h"

#include <openssl/evp.h>

#include "json/writer.h"

namespace corral::mesh {
namespace {

std::string key_of(const MeshId& mesh) {
  const auto key = tagged_hash("corral/1 hints", {reinterpret_cast<const char*>(mesh.bytes.data()), mesh.bytes.size()});
  std::string text(4 * ((key.size() + 2) / 3) + 1, '\0');
  const auto length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), key.data(), key.size());
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

std::string serf_config(const SerfSetup& setup) {
  std::string text;
  json::Writer out(text);
  out.begin_object();
  // Serf drops one of two agents with the same name, so the name is the node's id.
  out.field("node_name", to_text(setup.node).substr(0, 32));
  out.field("bind", to_text(setup.bind));
  out.field("rpc_addr", to_text(Address{"127.0.0.1", setup.rpc_port}));
  out.field("rpc_auth", setup.rpc_secret);
  out.field("encrypt_key", key_of(setup.mesh));
  out.field("snapshot_path", setup.memory.native());
  // After a cut, hints of a node return within half a second; with the default after 10 to 15 s.
  out.field("reconnect_interval", "1s").field("retry_interval", "5s");
  // Hints are only addresses, so probes may be rare: half the idle processor time of "lan".
  out.field("profile", "wan").field("log_level", "warn");
  out.field("leave_on_terminate", true).field("rejoin_after_leave", true);
  out.field("disable_name_resolution", true);
  out.key("retry_join").begin_array();
  for (const auto& engine : setup.engines) out.value(to_text(engine));
  out.end_array().end_object();
  return text;
}

}  // namespace corral::mesh
