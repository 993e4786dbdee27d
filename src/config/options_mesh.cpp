// Settings for other machines. See option.h for what a row yields.
#include <array>

#include "config/mesh_addresses.h"
#include "config/option_tables.h"

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
           .help = "Where other nodes reach this one, once it is in a mesh; before that nothing listens. Every "
                   "connection shows a certificate, and only members get in. Port 0 picks a free one.",
           .right = "an address and a port, such as 0.0.0.0:8100 or [::]:8100",
           .check = check_listen,
           .guarded = true},
    Option{.key = "mesh_advertise",
           .group = Group::mesh,
           .field = &S::mesh_advertise,
           .fallback = "",
           .value_name = "ADDRESS",
           .help = "Addresses under which other nodes find this one, where they aren't those of its interfaces: "
                   "\"box.lan:8100 100.64.0.7:8100\". Eight at most.",
           .right = "addresses with ports, with spaces between, such as box.lan:8100",
           .check = check_advertised,
           .several_words = true,
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "mesh_gossip_port",
           .group = Group::mesh,
           .field = &S::mesh_gossip_port,
           .fallback = "8101",
           .value_name = "N",
           .help = "Port, TCP and UDP, of the helper that spreads who may be where among many nodes. off (0): nodes "
                   "find each other by their links alone.",
           .range = {0, 65535},
           .zero_name = "off"},
    Option{.key = "mesh_name",
           .group = Group::mesh,
           .field = &S::mesh_name,
           .fallback = "",
           .value_name = "NAME",
           .help = "What people call this node; without it, the name of its host.",
           .right = "a name of 63 letters, digits, '.', '-' and '_' at most",
           .check = check_mesh_name,
           .applies = Applies::now},
    Option{.key = "mesh_role",
           .group = Group::mesh,
           .field = &S::mesh_role,
           .fallback = "auto",
           .value_name = "ROLE",
           .help = "What this node does for others. member: serves its own models and lends what is free. worker: all "
                   "its memory is for models of the mesh. client: lends nothing. auto: a worker where it was started "
                   "with --join and has no models, else a member.",
           .choices = kMeshRoles,
           .applies = Applies::now},
    Option{.key = "mesh_lend_memory",
           .group = Group::mesh,
           .field = &S::mesh_lend_memory,
           .fallback = "1",
           .value_name = "X",
           .help = "Share of each device's memory that models loaded for other nodes may take together. They give way "
                   "to what is asked for here. 0: nothing is lent.",
           .range = {0, 1000},
           .applies = Applies::now},
    Option{
        .key = "mesh_idle_unload",
        .group = Group::mesh,
        .field = &S::mesh_idle_unload,
        .fallback = "30m",
        .value_name = "TIME",
        .help = "A model that was loaded for other nodes is unloaded when nobody has used it for so long. 0: at once.",
        .range = {0, 24 * 365 * kHour},
        .never_name = "never",
        .applies = Applies::now},
    Option{.key = "mesh_copies",
           .group = Group::mesh,
           .field = &S::mesh_copies,
           .fallback = "true",
           .help = "Let other nodes copy the files of this node's models.",
           .applies = Applies::now},
    Option{.key = "mesh_auto_copy",
           .group = Group::mesh,
           .field = &S::mesh_auto_copy,
           .fallback = "false",
           .help = "Let the mesh copy models to this node that it is to serve (corral mesh plan). Such copies take at "
                   "most half of what is free on the disk. A worker always allows them.",
           .applies = Applies::now},
    Option{.key = "mesh_admin",
           .group = Group::mesh,
           .field = &S::mesh_admin,
           .fallback = "false",
           .help = "Let administrators of other nodes order what this node serves for the mesh (corral mesh assign, "
                   "unload, load --split).",
           .applies = Applies::now,
           .guarded = true},
    Option{.key = "mesh_models",
           .group = Group::mesh,
           .field = &S::mesh_models,
           .fallback = "",
           .value_name = "MODEL",
           .help =
               "Models that the mesh is to have, wherever their files are: names, or org/repo:QUANT for what may be "
               "downloaded; '*' is all that this node has. A wish that is told to all nodes, not a promise.",
           .right = "up to 64 names of models with spaces between",
           .check = check_models,
           .older_flag = "--model",
           .several_words = true,
           .applies = Applies::now},
    Option{.key = "mesh_peers",
           .group = Group::mesh,
           .field = &S::mesh_peers,
           .fallback = "",
           .value_name = "NODE@ADDRESS",
           .help =
               "Nodes that are always looked for at these addresses, for machines that are set up by configuration: "
               "identifier, @, address and port. Nodes that name each other are one mesh without a token. corral mesh "
               "shows a node's identifier.",
           .right = "nodes as ID@ADDRESS:PORT with spaces between, where ID has 64 hexadecimal digits",
           .check = check_peers,
           .several_words = true,
           .guarded = true},
    Option{.key = "mesh_identity",
           .group = Group::mesh,
           .field = &S::mesh_identity,
           .fallback = "",
           .value_name = "FILE",
           .help = "The node's key, for services whose state_dir doesn't last: an Ed25519 key in PEM that nobody else "
                   "can read. Without it, one is made in state_dir.",
           .guarded = true},
    Option{.key = "join_token",
           .group = Group::mesh,
           .field = &S::join_token,
           .fallback = "",
           .value_name = "TOKEN",
           .help = "Join the mesh that this token is for, beside serving: the token, or a file that holds it. A node "
                   "that is a member already doesn't need it any more.",
           .older_flag = "--join",
           .settable = false,
           .secret = true,
           .guarded = true},

};

}  // namespace

std::span<const Option> mesh_options() { return kOptions; }

}  // namespace corral::config
