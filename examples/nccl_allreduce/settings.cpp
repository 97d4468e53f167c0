// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/settings.hpp"

#include <charconv>
#include <limits>
#include <string_view>

namespace nccl_allreduce {
namespace {

constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr int most_ranks = 100'000;  // up to there sums are exact; see value_at in kernels.hpp

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

/// "8", "64K", "1G": powers of 1024.
std::optional<std::uint64_t> bytes_of(std::string_view text) {
  constexpr std::string_view suffixes = "KMG";
  const std::size_t suffix = text.empty() ? std::string_view::npos : suffixes.find(text.back());
  if (suffix == std::string_view::npos) return number_of(text);
  text.remove_suffix(1);
  const auto number = number_of(text);
  const unsigned shift = 10 * (static_cast<unsigned>(suffix) + 1);
  if (!number || *number > most_bytes >> shift) return std::nullopt;
  return *number << shift;
}

/// Reads numbers from flags and variables, and collects what is wrong with them.
class Reader {
 public:
  explicit Reader(const std::function<const char*(const char*)>& variable) : variable_(variable) {}

  std::string text(const char* name) const {
    const char* const value = variable_(name);
    return value != nullptr ? value : "";
  }

  int variable(const char* name, int otherwise, int least, int most) {
    const std::string value = text(name);
    return value.empty() ? otherwise : number(name, value, number_of(value), least, most);
  }

  template <typename T>
  T number(const std::string& name, const std::string& value, std::optional<std::uint64_t> read,
           T least, T most) {
    if (read && *read >= static_cast<std::uint64_t>(least) &&
        *read <= static_cast<std::uint64_t>(most))
      return static_cast<T>(*read);
    wrong(name + " is '" + value + "', and must be a number from " + std::to_string(least) +
          " to " + std::to_string(most));
    return least;
  }

  void wrong(const std::string& what) { problems_ += (problems_.empty() ? "" : "; ") + what; }
  const std::string& problems() const { return problems_; }

 private:
  const std::function<const char*(const char*)>& variable_;
  std::string problems_;
};

void read_variables(Reader& reader, Settings& settings) {
  settings.world_size = reader.variable("WORLD_SIZE", 1, 1, most_ranks);
  settings.rank = reader.variable("RANK", 0, 0, settings.world_size - 1);
  settings.local_world_size = reader.variable("LOCAL_WORLD_SIZE", 1, 1, settings.world_size);
  settings.local_rank = reader.variable("LOCAL_RANK", 0, 0, settings.local_world_size - 1);
  if (settings.world_size > 1) {
    settings.master_address = reader.text("MASTER_ADDR");
    if (settings.master_address.empty())
      reader.wrong("MASTER_ADDR is not set: 'train launch' and torchrun set it");
    const std::string port = reader.text("MASTER_PORT");
    settings.master_port = reader.number("MASTER_PORT", port, number_of(port), 1, 65535);
    if (reader.text("RANK").empty()) reader.wrong("RANK is not set, and WORLD_SIZE is");
  }
  settings.job =
      reader.text("TORCHELASTIC_RUN_ID") + "/" + reader.text("TORCHELASTIC_RESTART_COUNT");
  settings.metrics_file = reader.text("TRAIN_METRICS_FILE");
  const std::string indices = reader.text("TRAIN_DEVICE_INDICES");
  if (!indices.empty()) {
    const std::string first = indices.substr(0, indices.find(','));
    settings.device_index = reader.number("TRAIN_DEVICE_INDICES", first, number_of(first), 0, 1023);
  }
}

void read_flag(Reader& reader, const std::string& name, const std::string& value,
               Settings& settings) {
  if (name == "--min")
    settings.sizes.min_bytes =
        reader.number(name, value, bytes_of(value), std::uint64_t{4}, most_bytes);
  else if (name == "--max")
    settings.sizes.max_bytes =
        reader.number(name, value, bytes_of(value), std::uint64_t{4}, most_bytes);
  else if (name == "--factor")
    settings.sizes.factor = reader.number(name, value, number_of(value), 2U, 8U);
  else if (name == "--iterations")
    settings.iterations = reader.number(name, value, number_of(value), 1, 1000);
  else if (name == "--timeout")
    settings.timeout = std::chrono::seconds(reader.number(name, value, number_of(value), 1, 3600));
  else if (name == "--nccl")
    settings.library = value;
  else
    reader.wrong("there is no flag '" + name + "'");
}

}  // namespace

const char* const help_text =
    "nccl_allreduce: measures NCCL's all-reduce between the ranks of a launch.\n"
    "\n"
    "  --min BYTES      smallest size (8); K, M and G are powers of 1024\n"
    "  --max BYTES      largest size (1G), as far as the memory of the GPUs lets it\n"
    "  --factor N       from one size to the next, 2 to 8 (2)\n"
    "  --iterations N   all-reduces that are timed for a size, at most (20)\n"
    "  --timeout S      what one step may take: to meet, to join, one all-reduce (60)\n"
    "  --nccl FILE      the library (libnccl.so.2, where the loader finds it)\n"
    "\n"
    "Reads RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT; without\n"
    "them it is the only rank.\n";

Result<Settings> read_settings(const std::vector<std::string>& flags,
                               const std::function<const char*(const char*)>& variable) {
  Settings settings;
  Reader reader(variable);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::size_t equals = flags[i].find('=');
    if (flags[i] == "--help")
      settings.help = true;
    else if (equals != std::string::npos)
      read_flag(reader, flags[i].substr(0, equals), flags[i].substr(equals + 1), settings);
    else if (i + 1 < flags.size())
      read_flag(reader, flags[i], flags[i + 1], settings), ++i;
    else
      reader.wrong("'" + flags[i] + "' is no flag, or lacks its value");
  }
  read_variables(reader, settings);
  if (const char* const visible = variable("CUDA_VISIBLE_DEVICES"))
    settings.visible_devices = visible;
  if (settings.sizes.min_bytes > settings.sizes.max_bytes) reader.wrong("--min is more than --max");
  if (reader.problems().empty() || settings.help) return settings;
  return Failure{reader.problems() + "; see --help", ExitCode::usage};
}

Result<int> device_of(const Settings& settings, int visible) {
  const std::string list =
      settings.visible_devices ? " (CUDA_VISIBLE_DEVICES=" + *settings.visible_devices + ")" : "";
  const std::string seen = std::to_string(visible) + " visible" + list;
  if (settings.device_index) {
    if (*settings.device_index < visible) return *settings.device_index;
    return Failure{"TRAIN_DEVICE_INDICES says GPU " + std::to_string(*settings.device_index) +
                       " of " + seen + ": compare it with what 'train plan --format env' says",
                   ExitCode::unavailable};
  }
  if (settings.local_rank < visible) return settings.local_rank;
  // Launchers that make one GPU visible to each rank do not count it in LOCAL_RANK.
  const bool is_its_own = settings.visible_devices && !settings.visible_devices->empty() &&
                          settings.visible_devices->find(',') == std::string::npos;
  if (visible == 1 && is_its_own) return 0;
  return Failure{
      "LOCAL_RANK is " + std::to_string(settings.local_rank) + ", and the GPUs are " + seen +
          ": start no more ranks than GPUs on a host, with resources_per_worker: {GPU: 1}",
      ExitCode::unavailable};
}

}  // namespace nccl_allreduce
