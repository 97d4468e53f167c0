// SPDX-License-Identifier: Apache-2.0
#include "config_schema/experiment_fields.hpp"

namespace train {

namespace {

using enum FieldType;
constexpr FieldSource determined = FieldSource::determined;

constexpr std::string_view no_such = "remove it: Determined does not let it be set";

constexpr Field fields[] = {
    Field{"environment.image", string | mapping, determined, "", "the container's image"}
        .no_effect(),
    Field{"environment.image.cpu", string, determined, "", "without accelerators"},
    Field{"environment.image.cuda", string, determined, "", "with NVIDIA GPUs"},
    Field{"environment.image.rocm", string, determined, "", "with AMD GPUs"},
    Field{"environment.image.gpu", string, determined, "", "the old name of cuda"},
    Field{"environment.force_pull_image", boolean, determined, "false", "pull it each time"}
        .no_effect(),
    Field{"environment.registry_auth", mapping, determined, "", "login of the image registry"}
        .no_effect(),
    Field{"environment.registry_auth.username", string, determined, "", "user"},
    Field{"environment.registry_auth.password", string, determined, "", "password"}.secret(),
    Field{"environment.registry_auth.auth", string, determined, "", "user and password"}.secret(),
    Field{"environment.registry_auth.email", string, determined, "", "address"},
    Field{"environment.registry_auth.serveraddress", string, determined, "", "the registry"},
    Field{"environment.registry_auth.identitytoken", string, determined, "", "token"}.secret(),
    Field{"environment.registry_auth.registrytoken", string, determined, "", "token"}.secret(),
    Field{"environment.ports", mapping, determined, "", "ports of the container"}.no_effect(),
    Field{"environment.ports.*", integer, determined, "", "a port"},
    Field{"environment.proxy_ports", list, determined, "", "ports that the master forwards"}
        .no_effect(),
    Field{"environment.proxy_ports[]", mapping, determined, "", "one port"},
    Field{"environment.proxy_ports[].proxy_port", integer, determined, "", "the port"}.needed(),
    Field{"environment.proxy_ports[].proxy_tcp", boolean, determined, "false", "not only HTTP"},
    Field{"environment.proxy_ports[].unauthenticated", boolean, determined, "false",
          "without login"},
    Field{"environment.proxy_ports[].default_service_id", boolean, determined, "false",
          "as the task's own address"},
    Field{"environment.add_capabilities", strings, determined, "", "of the container"}.no_effect(),
    Field{"environment.drop_capabilities", strings, determined, "", "of the container"}.no_effect(),
    Field{"environment.slurm", strings, determined, "", "options of sbatch"}.no_effect(),
    Field{"environment.pod_spec", open, determined, "", "the Kubernetes pod"}.no_effect(),
    Field{"environment.pod_spec.name", any, determined, "", no_such}.forbidden(),
    Field{"environment.pod_spec.name_space", any, determined, "", no_such}.forbidden(),
    Field{"environment.pod_spec.spec", open, determined, "", "its specification"},
    Field{"environment.pod_spec.spec.containers", list, determined, "", "its containers"},
    Field{"environment.pod_spec.spec.containers[]", open, determined, "", "one container"},

    Field{"bind_mounts", list, determined, "", "folders of the host in the container"}.no_effect(),
    Field{"bind_mounts[]", mapping, determined, "", "one folder"},
    Field{"bind_mounts[].host_path", string, determined, "", "path on the host"}
        .like(FieldPattern::absolute_path)
        .needed(),
    Field{"bind_mounts[].container_path", string, determined, "", "path in the container"}
        .like(FieldPattern::not_dot)
        .needed(),
    Field{"bind_mounts[].read_only", boolean, determined, "false", "whether it may be written"},
    Field{"bind_mounts[].propagation", string, determined, "rprivate", "how mounts spread"},
};

}  // namespace

std::span<const Field> container_fields() { return fields; }

}  // namespace train
