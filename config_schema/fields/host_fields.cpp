// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/field_table.hpp"

namespace train {

namespace {

using enum FieldType;
using enum FieldSource;

constexpr Field hosts[] = {
    Field{"name", string, train, "", "the host's name, or a host set such as node[01-16]"},
    Field{"address", string, train, "", "where to connect; default: the name"},
    Field{"user", string, train, "", "the user to log in as; default: ssh's"},
    Field{"port", integer, train, "", "the port of sshd; default: ssh's"}.from(1).to(65'535),
    Field{"identity_file", string, train, "", "the private key to log in with; default: ssh's"},
    Field{"transport", string | mapping, train, "auto",
          "how the host is reached; auto: directly if it is this machine, else over SSH; openssh: "
          "through OpenSSH's ssh program; a mapping: through any other program"}
        .one_of("auto|local|ssh|openssh"),
    Field{"transport.command", strings, train, "",
          "the program and its arguments, which runs a shell there: `{host}`, `{address}` and "
          "`{user}` are filled in; `/bin/sh -c LINE` is appended, unless `{command}` stands for "
          "LINE"}
        .needed(),
    Field{"slots", integer, train, "",
          "places for workers; on a host with GPUs, how many of them are used"}
        .from(1)
        .to(65'536),
    Field{
        "slot_type", string, determined, "auto",
        "what the slots are where nothing else says it; auto: GPUs if the host has that many when "
        "it is asked, places for workers if it has none; cpu: places, whatever it has"}
        .one_of("auto|cuda|rocm|cpu")
        .gone_ones("gpu=write cuda for NVIDIA's GPUs, rocm for AMD's|none=leave the host out"),
    Field{"accelerator_type", string, ray, "", "what its GPUs are: Ray's constant, such as A100"},
    Field{"resources", mapping, ray, "", "what the host has, for workers that ask for it"}
        .read_apart(),
    Field{"resources.CPU", number, ray, "", "CPUs"}.from(0).to(most_of_one),
    Field{"resources.GPU", integer, ray, "", "GPUs of the host"}.from(0).to(65'536),
    Field{"resources.TPU", integer, ray, "", "TPU chips of the host"}.from(0).to(65'536),
    Field{"resources.memory", bytes, ray, "", "bytes, or a size such as 512GiB"},
    Field{"resources.*", number, ray, "", "a resource of any other name that workers ask for"}
        .from(0)
        .to(most_of_one),
    Field{"labels", mapping, train, "", "NAME: value, for what selects hosts by labels"}
        .read_apart(),
    Field{"labels.*", string | number | boolean, train, "", "the value of one label"},
    Field{"pool", string, determined, "",
          "the pool that resources.resource_pool of an experiment names"},
    Field{"weight", number, train, "1", "speed beside other hosts, for batch_split: weighted"}
        .above(0)
        .to(1'000'000),
    Field{"interface", string, determined, "",
          "network interface of the collectives; it must be there and up"},
    Field{"slice", string, train, "", "the TPU slice that the host belongs to; default: its own"},
    Field{
        "lease_directory", string, train, "",
        "the folder on the host in which all who use it hold slots; it must be there; default: the "
        "usual one"}
        .like(FieldPattern::absolute_path),
    Field{"env", mapping, train, "", "variables of every rank on the host"}.read_apart(),
    Field{"env.*", string | number | boolean, train, "", "the value of one variable"},
};

constexpr Field inventory[] = {
    Field{"defaults", mapping, train, "",
          "keys of a host, for every host that does not say otherwise"}
        .read_apart(),
    Field{"hosts", list, train, "", "the hosts, in the order in which ranks are numbered"},
    Field{"task_container_defaults", any, determined, "",
          "it belongs to Determined's master; dtrain_network_interface is 'interface' under "
          "'defaults' here"}
        .forbidden(),
    Field{"dtrain_network_interface", any, determined, "",
          "write it as 'interface' under 'defaults', or for each host"}
        .forbidden(),
    Field{"entrypoint", any, train, "", "it belongs to an experiment, not to a hosts file"}
        .forbidden(),
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
