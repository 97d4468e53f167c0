// SPDX-License-Identifier: Apache-2.0
#include "launcher/context/private_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace train {

namespace {

constexpr std::size_t most_named = 4;
constexpr std::size_t longest_named = 60;

// Names of files, in any folder.
constexpr auto names = std::to_array<std::string_view>({".env",
                                                        ".netrc",
                                                        "_netrc",
                                                        ".npmrc",
                                                        ".pypirc",
                                                        ".git-credentials",
                                                        ".pgpass",
                                                        ".my.cnf",
                                                        ".htpasswd",
                                                        ".s3cfg",
                                                        ".boto",
                                                        ".dockercfg",
                                                        ".databrickscfg",
                                                        ".vault-token",
                                                        "kubeconfig",
                                                        "kaggle.json",
                                                        "application_default_credentials.json",
                                                        "id_rsa",
                                                        "id_dsa",
                                                        "id_ecdsa",
                                                        "id_ecdsa_sk",
                                                        "id_ed25519",
                                                        "id_ed25519_sk"});

// Names that count only in a certain folder.
constexpr auto names_in_folders =
    std::to_array<std::string_view>({".aws/credentials", ".docker/config.json", ".kube/config",
                                     ".huggingface/token", "huggingface/token"});

// Folders in which every file counts.
constexpr auto folders = std::to_array<std::string_view>({".ssh", ".gnupg", "gcloud"});

constexpr auto endings = std::to_array<std::string_view>(
    {".pem", ".key", ".p12", ".pfx", ".jks", ".keystore", ".ppk", ".kdbx"});

constexpr auto template_endings =
    std::to_array<std::string_view>({".example", ".sample", ".template", ".dist", ".pub"});

bool is_one_of(std::string_view word, const auto& table) {
  return std::find(table.begin(), table.end(), word) != table.end();
}

bool ends_in_one_of(std::string_view word, const auto& table) {
  return std::any_of(table.begin(), table.end(),
                     [word](std::string_view ending) { return word.ends_with(ending); });
}

bool is_in_private_folder(std::string_view path) {
  for (std::size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    if (is_one_of(path.substr(0, slash), folders)) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace

bool is_private_file(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);  // npos + 1 is 0
  if (ends_in_one_of(name, template_endings)) return false;
  if (is_one_of(name, names) || name.starts_with(".env.") || ends_in_one_of(name, endings))
    return true;
  const auto is_it = [path](std::string_view one) {
    return path == one || (path.ends_with(one) && path[path.size() - one.size() - 1] == '/');
  };
  return std::any_of(names_in_folders.begin(), names_in_folders.end(), is_it) ||
         is_in_private_folder(path);
}

std::string warning_of_private_files(const std::vector<std::string>& paths) {
  if (paths.empty()) return {};
  std::string named;
  for (std::size_t i = 0; i < std::min(paths.size(), most_named); ++i) {
    const bool is_long = paths[i].size() > longest_named;
    const std::string shown =
        is_long ? "..." + paths[i].substr(paths[i].size() - longest_named + 3) : paths[i];
    named += fmt::format("{}'{}'", i == 0 ? "" : ", ", shown);
  }
  if (paths.size() > most_named) named += fmt::format(" and {} more", paths.size() - most_named);
  return fmt::format(
      "the context has files that commonly hold keys or passwords, and that every host gets: {}; "
      "to leave them out, name them in .trainignore",
      named);
}

}  // namespace train
