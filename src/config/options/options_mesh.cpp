// Settings of the mesh. See option.h for what a row yields.
#include <array>

#include "config/mesh_addresses.h"
#include "config/options/option_tables.h"

namespace corral::config {
namespace {

using S = ServeSettings;

constexpr std::int64_t kHour = 3'600 * 1'000;

Result<> check_listen(const std::string& text) { return check_endpoint(text); }
Result<> check_advertised(const std::string& text) { return check_endpoints(text); }
Result<> check_peers(const std::string& text) { return check_mesh_peers(text); }
Result<> check_models(const std::string& text) { return check_mesh_models(text); }

const std::array kOptions = {
    Option{.key = "mesh_listen",
           .group = Group::mesh,
           .field = &S::mesh_listen,
           .fallback = "0.0.0.0:8100",
           .value_name = "ADDRESS",
           .help = "Address for links of other nodes. The server listens on it only while it is in a mesh. Every "
                   "connection needs a certificate of a member. Port 0 picks a free port.",
           .right = "an address and a port, such as 0.0.0.0:8100 or [::]:8100",
           .check = check_listen,
           .guarded = true},
    Option{.key = "mesh_advertise",
           .group = Group::mesh,
           .field = &S::mesh_advertise,
           .fallback = "",
           .value_name = "ADDRESS",
           .help = "Addresses that other nodes use for this node, if they differ from those of its interfaces: "
                   "\"box.lan:8100 100.64.0.7:8100\". At most eight.",
           .right = "addresses with ports, separated by spaces, such as box.lan:8100",
           .check = check_advertised,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "mesh_gossip_port",
           .group = Group::mesh,
           .field = &S::mesh_gossip_port,
           .fallback = "8101",
           .value_name = "N",
           .help = "Port (TCP and UDP) of the discovery agent (Serf). off (0): nodes find each other by links only.",
           .range = {0, 65535},
           .zero_name = "off"},
    Option{.key = "mesh_name",
           .group = Group::mesh,
           .field = &S::mesh_name,
           .fallback = "",
           .value_name = "NAME",
           .help = "Display name of this node; default: its host name.",
           .right = "a name of at most 63 letters, digits, '.', '-' and '_'",
           .check = check_mesh_name,
           .applies = Applies::now},
    Option{.key = "mesh_role",
           .group = Group::mesh,
           .field = &S::mesh_role,
           .fallback = "auto",
           .value_name = "ROLE",
           .help = "What this node does for others. member: serves its own models and lends free memory. worker: uses "
                   "all its memory for models of the mesh. client: lends nothing. auto: worker if started with --join "
                   "and without models, else member.",
           .choices = kMeshRoles,
           .applies = Applies::now},
    Option{.key = "mesh_lend_memory",
           .group = Group::mesh,
           .field = &S::mesh_lend_memory,
           .fallback = "1",
           .value_name = "X",
           .help = "Share of each device's memory for models that are loaded for other nodes. Local requests take "
                   "precedence. 0: lends nothing.",
           .range = {0, 1000},
           .applies = Applies::now},
    Option{.key = "mesh_idle_unload",
           .group = Group::mesh,
           .field = &S::mesh_idle_unload,
           .fallback = "30m",
           .value_name = "TIME",
           .help = "Idle time before a model that was loaded for other nodes is unloaded. 0: at once.",
           .range = {0, 24 * 365 * kHour},
           .never_name = "never",
           .applies = Applies::now},
    Option{.key = "mesh_copies",
           .group = Group::mesh,
           .field = &S::mesh_copies,
           .fallback = "true",
           .help = "Allow other nodes to copy the files of this node's models.",
           .applies = Applies::now},
    Option{.key = "mesh_auto_copy",
           .group = Group::mesh,
           .field = &S::mesh_auto_copy,
           .fallback = "false",
           .help = "Allow the mesh to copy models to this node that the plan assigns to it (corral mesh plan). Such "
                   "copies use at most half of the free disk space. A worker always allows them.",
           .applies = Applies::now},
    Option{.key = "mesh_admin",
           .group = Group::mesh,
           .field = &S::mesh_admin,
           .fallback = "false",
           .help = "Allow administrators of other nodes to order what this node serves for the mesh (corral mesh "
                   "assign, unload, load --split).",
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "mesh_models",
           .group = Group::mesh,
           .field = &S::mesh_models,
           .fallback = "",
           .value_name = "MODEL",
           .help =
               "Models that the mesh should serve, wherever their files are: names, or org/repo:QUANT for models that "
               "may be downloaded; '*': all models of this node. Announced to all nodes; not guaranteed to be served.",
           .right = "up to 64 model names separated by spaces",
           .check = check_models,
           .older_flag = "--model",
           .several_words = true,
           .applies = Applies::now},
    Option{.key = "mesh_peers",
           .group = Group::mesh,
           .field = &S::mesh_peers,
           .fallback = "",
           .value_name = "NODE@ADDRESS",
           .help = "Nodes with fixed addresses, for machines that are set up by configuration: identifier, @, address "
                   "and port. Nodes that list each other form one mesh without a token. corral mesh shows the "
                   "identifier of a node.",
           .right = "nodes as ID@ADDRESS:PORT separated by spaces; ID has 64 hexadecimal digits",
           .check = check_peers,
           .several_words = true,
           .guarded = true},
    Option{.key = "mesh_identity",
           .group = Group::mesh,
           .field = &S::mesh_identity,
           .fallback = "",
           .value_name = "FILE",
           .help = "Key file of the node, for services without a permanent state_dir: an Ed25519 key in PEM, readable "
                   "only by its owner. Default: a key in state_dir.",
           .guarded = true},
    Option{.key = "join_token",
           .group = Group::mesh,
           .field = &S::join_token,
           .fallback = "",
           .value_name = "TOKEN",
           .help = "Join the mesh of this token: the token, or a file with it. The server serves meanwhile. A member "
                   "no longer needs the token.",
           .older_flag = "--join",
           .settable = false,
           .secret = true,
           .guarded = true},

};

}  // namespace

std::span<const Option> mesh_options() { return kOptions; }

}  // namespace corral::config
