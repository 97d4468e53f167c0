// SPDX-License-Identifier: Apache-2.0
#include "config_schema/field.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr Field hosts[] = {
    {"name", string, train, "", "a host, or a host set such as node[01-16]"},
    {"address", string, train, "", "what is connected to; default: the name"},
    {"user", string, train, "", "the user to log in as"},
    {"port", integer, train, "22", "of sshd", FieldEffect::used, "", 1, 65'535},
    {"identity_file", string, train, "", "private key"},
    {"transport", choice, train, "auto", "how the host is reached", FieldEffect::used, "", 0,
     no_limit, "auto|local|ssh", "openssh"},
    {"slots", integer, train, "", "places for workers", FieldEffect::used, "", 1, 65'536},
    {"accelerator_type", string, ray, "", "Ray's constant, such as A100"},
    {"resources", open_mapping, ray, "", "CPU, GPU, memory and custom amounts"},
    {"labels", open_mapping, train, "", "key: value, to select hosts by"},
    {"pool", string, determined, "", "selected by resources.resource_pool"},
    {"weight", number, train, "1", "relative speed, above 0"},
    {"interface", string, determined, "", "network interface of the collectives"},
    {"slice", string, train, "", "the TPU slice it belongs to", FieldEffect::later},
    {"env", open_mapping, train, "", "variables of every rank there"},
};

constexpr Field inventory[] = {
    {"defaults", any, train, "", "keys of every host that does not say otherwise"},
    {"hosts", list, train, "", "the hosts, in the order in which ranks are numbered"},
};

}  // namespace

std::span<const Field> host_fields() { return hosts; }
std::span<const Field> inventory_fields() { return inventory; }

}  // namespace train
