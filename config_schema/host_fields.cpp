// SPDX-License-Identifier: Apache-2.0
#include "config_schema/field_table.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr std::int64_t most_of_one = 1'000'000'000'000;  // of one resource

constexpr Field hosts[] = {
    Field{"name", string, train, "", "a host, or a host set such as node[01-16]"},
    Field{"address", string, train, "", "what is connected to; default: the name"},
    Field{"user", string, train, "", "the user to log in as"},
    Field{"port", integer, train, "22", "the port of sshd"}.from(1).to(65'535),
    Field{"identity_file", string, train, "", "private key"},
    Field{"transport", string, train, "auto", "how the host is reached"}
        .one_of("auto|local|ssh")
        .later_ones("openssh"),
    Field{"slots", integer, train, "", "places for workers; GPUs where it has any"}.from(1).to(
        65'536),
    Field{"accelerator_type", string, ray, "", "Ray's constant, such as A100"},
    Field{"resources", mapping, ray, "", "what the host has"}.read_apart(),
    Field{"resources.CPU", number, ray, "", "CPUs"}.from(0).to(most_of_one),
    Field{"resources.GPU", integer, ray, "", "GPUs"}.from(0).to(65'536),
    Field{"resources.TPU", number, ray, "", "TPU chips"}.from(0).to(0),
    Field{"resources.memory", bytes, ray, "", "bytes, or a size such as 512GiB"},
    Field{"resources.*", number, ray, "", "a resource that workers ask for"}.from(0).to(
        most_of_one),
    Field{"labels", mapping, train, "", "key: value, to select hosts by"}.read_apart(),
    Field{"labels.*", string | number | boolean, train, "", "value of one label"},
    Field{"pool", string, determined, "", "selected by resources.resource_pool"},
    Field{"weight", number, train, "1", "relative speed"}.above(0).to(1'000'000),
    Field{"interface", string, determined, "", "network interface of the collectives"},
    Field{"slice", string, train, "", "the TPU slice it belongs to"}.later(),
    Field{"env", mapping, train, "", "variables of every rank there"}.read_apart(),
    Field{"env.*", string | number | boolean, train, "", "value of one variable"},
};

constexpr Field inventory[] = {
    Field{"defaults", any, train, "", "keys of every host that does not say otherwise"},
    Field{"hosts", list, train, "", "the hosts, in the order in which ranks are numbered"},
};

}  // namespace

const FieldTable& host_fields() {
  static const FieldTable table(hosts);
  return table;
}

const FieldTable& inventory_fields() {
  static const FieldTable table(inventory);
  return table;
}

}  // namespace train
