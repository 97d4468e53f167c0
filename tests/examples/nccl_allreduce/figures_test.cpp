// SPDX-License-Identifier: Apache-2.0
#include "examples/nccl_allreduce/figures.hpp"

#include "tests/catch.hpp"

namespace nccl_allreduce {
namespace {

using Sizes = std::vector<std::uint64_t>;

Row row_of(std::uint64_t bytes, double seconds, int ranks) {
  return {bytes, seconds, bandwidth_of(bytes, seconds, ranks), 0};
}

TEST_CASE("sizes go up by the factor, to the largest that is not above the maximum") {
  CHECK(sizes_of({8, 64, 2}) == Sizes{8, 16, 32, 64});
  CHECK(sizes_of({8, 63, 2}) == Sizes{8, 16, 32});
  CHECK(sizes_of({8, 5000, 8}) == Sizes{8, 64, 512, 4096});
  CHECK(sizes_of({8, 8, 2}) == Sizes{8});
  CHECK(sizes_of({8, 4, 2}).empty());
  CHECK(sizes_of({8, std::uint64_t{1} << 30, 2}).size() == 28);
}

TEST_CASE("sizes are whole floats, each once") {
  CHECK(sizes_of({5, 50, 3}) == Sizes{4, 12, 44});
  CHECK(sizes_of({4, 16, 2}) == Sizes{4, 8, 16});
  CHECK(sizes_of({1, 9, 2}) == Sizes{4, 8});
}

TEST_CASE("sizes end below the largest number") {
  constexpr std::uint64_t most = ~std::uint64_t{0};
  CHECK(sizes_of({most / 2, most, 8}) == Sizes{most / 2 / 4 * 4});
}

TEST_CASE("the bus bandwidth is that of nccl-tests: algorithm bandwidth times 2 (n - 1) / n") {
  // 1 GB in 10 ms.
  CHECK(bandwidth_of(1'000'000'000, 0.01, 2).algorithm == Approx(100));
  CHECK(bandwidth_of(1'000'000'000, 0.01, 2).bus == Approx(100));
  CHECK(bandwidth_of(1'000'000'000, 0.01, 4).bus == Approx(150));
  CHECK(bandwidth_of(1'000'000'000, 0.01, 8).bus == Approx(175));
  CHECK(bandwidth_of(1'000'000'000, 0.01, 1).algorithm == Approx(100));
  CHECK(bandwidth_of(1'000'000'000, 0.01, 1).bus == 0);
  CHECK(bandwidth_of(8, 0, 8).bus == 0);
}

TEST_CASE("one size takes about five seconds at most") {
  CHECK(iterations_for(0.001, 20) == 20);
  CHECK(iterations_for(0.25, 20) == 20);
  CHECK(iterations_for(0.5, 20) == 10);
  CHECK(iterations_for(17, 20) == 1);
  CHECK(iterations_for(0, 20) == 20);
}

TEST_CASE("a row stands below the head of the table") {
  const Row row{1'048'576, 100e-6, bandwidth_of(1'048'576, 100e-6, 4), 0};
  CHECK(table_head() ==
        "#        bytes     elements      time us   algbw GB/s   busbw GB/s    wrong");
  CHECK(table_line(row) ==
        "       1048576       262144       100.00        10.49        15.73        0");
  CHECK(table_line(row).size() == table_head().size());
}

TEST_CASE("the last line has the average and the maximum of the bus bandwidth") {
  const std::vector<Row> rows{row_of(1000, 1e-6, 2), row_of(8000, 2e-6, 2),
                              row_of(10'000, 4e-6, 2)};
  CHECK(summary_line(rows, 2) ==
        "# bus bandwidth: average 2.50 GB/s, maximal 4.00 GB/s at 8000 bytes");
}

TEST_CASE("the last line of one rank says why its bus bandwidth is 0") {
  CHECK(summary_line({row_of(1000, 1e-6, 1), row_of(8000, 2e-6, 1)}, 1) ==
        "# bus bandwidth: 0 by definition, as one rank sends nothing; algbw: maximal 4.00 GB/s at "
        "8000 bytes");
}

TEST_CASE("a report is a line of JSON") {
  CHECK(
      report_line(row_of(8000, 2e-6, 4), 3) ==
      "{\"step\": 3, \"bytes\": 8000, \"time_us\": 2.000, \"algbw\": 4.0000, \"busbw\": 6.0000}\n");
}

}  // namespace
}  // namespace nccl_allreduce
