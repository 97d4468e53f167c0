// SPDX-License-Identifier: Apache-2.0
// report_gallery FOLDER: writes pages of tasks that were never run, for
// tests/browser/report_test.sh. Prints their names.
#include <cstdio>
#include <fstream>

#include "launcher/report_page/report_page.hpp"
#include "tests/launcher/report_page/some_report.hpp"

using namespace train;

namespace {

bool write(const std::string& folder, const std::string& name, const TaskReport& report) {
  std::ofstream file(fmt::format("{}/{}.html", folder, name));
  file << report_page(report);
  file.close();
  if (file) fmt::print("{}\n", name);
  return static_cast<bool>(file);
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc != 2) return 2;
  const std::string folder = argv[1];
  TaskReport bare;
  bare.head = some_failed_report(1, 0).head;
  return write(folder, "bare", bare) && write(folder, "ranks_4", some_failed_report(4, 30)) &&
                 write(folder, "ranks_512", some_failed_report(512, 150)) &&
                 write(folder, "trials_500", some_search_report(500, 3))
             ? 0
             : 1;
}
