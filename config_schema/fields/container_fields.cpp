// SPDX-License-Identifier: Apache-2.0
#include "config_schema/fields/experiment_fields.hpp"

namespace train {

namespace {

using enum FieldType;
constexpr FieldSource determined = FieldSource::determined;

constexpr std::string_view no_such = "remove it: Determined does not let it be set";

constexpr Field fields[] = {
    Field{"environment.image", string | mapping, determined, "",
          "image of the container, or one for each kind of device"}
        .no_effect(),
    Field{"environment.image.cpu", string, determined, "", "image of trials without accelerators"},
    Field{"environment.image.cuda", string, determined, "", "image on NVIDIA GPUs"},
    Field{"environment.image.rocm", string, determined, "", "image on AMD GPUs"},
    Field{"environment.image.gpu", string, determined, "", "the old name of cuda"},
    Field{"environment.force_pull_image", boolean, determined, "false",
          "pulls the image even where it is there already"}
        .no_effect(),
    Field{"environment.registry_auth", mapping, determined, "", "login of the image registry"}
        .no_effect(),
    Field{"environment.registry_auth.username", string, determined, "", "user name"},
    Field{"environment.registry_auth.password", string, determined, "", "password"}.secret(),
    Field{"environment.registry_auth.auth", string, determined, "", "user and password in base64"}
        .secret(),
    Field{"environment.registry_auth.email", string, determined, "", "mail address"},
    Field{"environment.registry_auth.serveraddress", string, determined, "",
          "address of the registry"},
    Field{"environment.registry_auth.identitytoken", string, determined, "",
          "token in place of a password"}
        .secret(),
    Field{"environment.registry_auth.registrytoken", string, determined, "",
          "token that is sent to the registry"}
        .secret(),
    Field{"environment.ports", mapping, determined, "", "ports of the container"}.no_effect(),
    Field{"environment.ports.*", integer, determined, "", "number of one port"},
    Field{"environment.proxy_ports", list, determined, "",
          "ports that Determined's master forwards"}
        .no_effect(),
    Field{"environment.proxy_ports[]", mapping, determined, "", "one port"},
    Field{"environment.proxy_ports[].proxy_port", integer, determined, "", "number of the port"}
        .needed(),
    Field{"environment.proxy_ports[].proxy_tcp", boolean, determined, "false",
          "forwards TCP, not only HTTP"},
    Field{"environment.proxy_ports[].unauthenticated", boolean, determined, "false",
          "anybody may use it, without login"},
    Field{"environment.proxy_ports[].default_service_id", boolean, determined, "false",
          "it is the task's own address"},
    Field{"environment.add_capabilities", strings, determined, "",
          "Linux capabilities that the container gets"}
        .no_effect(),
    Field{"environment.drop_capabilities", strings, determined, "",
          "Linux capabilities that the container loses"}
        .no_effect(),
    Field{"environment.slurm", strings, determined, "", "options of sbatch"}.no_effect(),
    Field{"environment.pod_spec", open, determined, "", "the Kubernetes pod"}.no_effect(),
    Field{"environment.pod_spec.name", any, determined, "", no_such}.forbidden(),
    Field{"environment.pod_spec.name_space", any, determined, "", no_such}.forbidden(),
    Field{"environment.pod_spec.spec", open, determined, "", "specification of the pod"},
    Field{"environment.pod_spec.spec.containers", list, determined, "", "containers of the pod"},
    Field{"environment.pod_spec.spec.containers[]", open, determined, "", "one container"},

    Field{"bind_mounts", list, determined, "", "folders of the host that the container sees"}
        .no_effect(),
    Field{"bind_mounts[]", mapping, determined, "", "one folder"},
    Field{"bind_mounts[].host_path", string, determined, "", "path on the host"}
        .like(FieldPattern::absolute_path)
        .needed(),
    Field{"bind_mounts[].container_path", string, determined, "", "path in the container"}
        .like(FieldPattern::not_dot)
        .needed(),
    Field{"bind_mounts[].read_only", boolean, determined, "false",
          "the container may read, but not write it"},
    Field{"bind_mounts[].propagation", string, determined, "rprivate",
          "how mounts below it spread between host and container"},
};

}  // namespace

std::span<const Field> container_fields() { return fields; }

}  // namespace train
