// SPDX-License-Identifier: Apache-2.0
#include "backends/accelerator/cpu_topology.hpp"

#include <algorithm>

#include "tests/backends/accelerator/fake_host.hpp"
#include "tests/catch.hpp"

using namespace train;

namespace {

using Numbers = std::vector<int>;

void show_cpu(const FakeHost& host, int number, const std::string& siblings,
              const std::string& package) {
  const std::string folder =
      host.files.sys + "/devices/system/cpu/cpu" + std::to_string(number) + "/topology/";
  host.write(folder + "thread_siblings_list", siblings + "\n");
  host.write(folder + "physical_package_id", package + "\n");
}

void show_node(const FakeHost& host, const std::string& name, const std::string& cpus) {
  host.write(host.files.sys + "/devices/system/node/" + name + "/cpulist", cpus + "\n");
}

void show_gpu_node(const FakeHost& host, const std::string& bus, const std::string& node) {
  host.write(host.files.sys + "/bus/pci/devices/" + bus + "/numa_node", node + "\n");
}

}  // namespace

TEST_CASE("lists of the kernel are read, and nothing in them is believed") {
  CHECK(cpus_in("0-3,8,10-11") == Numbers{0, 1, 2, 3, 8, 10, 11});
  CHECK(cpus_in("5,1,5,0-1") == Numbers{0, 1, 5});
  CHECK(cpus_in("").empty());
  CHECK(cpus_in("a,-,3-,-4,7-5,1-2-3, 9,8191,8192,0-99999999999999999999") == Numbers{8191});
  std::string many;
  for (int i = 0; i < 2'000; ++i) many += "0-8191,";
  CHECK(cpus_in(many).size() == static_cast<std::size_t>(most_cpus));
}

TEST_CASE("CPUs lie in cores, sockets and nodes as the kernel shows them") {
  FakeHost host;
  for (const int number : {0, 1, 4, 5}) {
    const int core = number % 4;
    show_cpu(host, number, std::to_string(core) + "," + std::to_string(core + 4),
             core == 0 ? "0" : "1");
  }
  show_node(host, "node0", "0,4");
  show_node(host, "node1", "");
  show_node(host, "node12", "1,5");
  host.write(host.files.sys + "/devices/system/node/online", "0-1,12\n");
  const CpuTopology all = look_at_cpus({0, 1, 4, 5}, host.files);
  CHECK(all.cpus == std::vector<Cpu>{{0, 0, 0, 0}, {1, 1, 1, 12}, {4, 0, 0, 0}, {5, 1, 1, 12}});
  CHECK(look_at_cpus({5}, host.files).cpus == std::vector<Cpu>{{5, 1, 1, 12}});
}

TEST_CASE("a machine that shows nothing has one node of cores without siblings") {
  const FakeHost host;
  CHECK(look_at_cpus({2, 3}, host.files) == CpuTopology{{{2, 2, 0, 0}, {3, 3, 0, 0}}});
  CHECK(look_at_cpus({}, host.files) == CpuTopology{});
}

TEST_CASE("what cannot be is not believed of a CPU") {
  FakeHost host;
  show_cpu(host, 0, "4-5", "-1");
  show_cpu(host, 1, "nonsense", "two");
  show_node(host, "node-1", "0-1");
  show_node(host, "nodes", "0-1");
  CHECK(look_at_cpus({0, 1}, host.files).cpus == std::vector<Cpu>{{0, 0, 0, 0}, {1, 1, 0, 0}});
}

TEST_CASE("GPUs have the nodes of their places on the bus") {
  FakeHost host;
  host.four_of_nvidia();
  show_gpu_node(host, "0000:01:00.0", "1");
  show_gpu_node(host, "0000:02:00.0", "-1");
  show_gpu_node(host, "0000:04:00.0", "0");
  host.amd(1, 304, 0, std::uint64_t{64} << 30);
  host.device("kfd");
  host.device("dri/renderD128");
  const std::string properties = host.files.sys + "/class/kfd/kfd/topology/nodes/1/properties";
  host.write(properties,
             "cpu_cores_count 0\nsimd_count 304\ndrm_render_minor 128\n"
             "location_id 49920\ndomain 1\n");  // bus c3, device 0, function 0
  show_gpu_node(host, "0001:c3:00.0", "3");
  const CpuTopology topology = look_at_cpus({}, host.files);
  CHECK(topology.cuda_nodes == Numbers{1, -1, -1, 0});
  CHECK(topology.rocm_nodes == Numbers{3});
  std::filesystem::remove(host.files.dev + "/nvidia0");  // a container has the others alone
  CHECK(look_at_cpus({}, host.files).cuda_nodes == Numbers{-1, -1, 0});
}

TEST_CASE("this machine has CPUs that this process may use, each in one core") {
  const Numbers allowed = allowed_cpus();
  REQUIRE_FALSE(allowed.empty());
  CHECK(std::is_sorted(allowed.begin(), allowed.end()));
  const CpuTopology topology = look_at_cpus(allowed);
  REQUIRE(topology.cpus.size() == allowed.size());
  for (std::size_t i = 0; i < allowed.size(); ++i) CHECK(topology.cpus[i].number == allowed[i]);
}
