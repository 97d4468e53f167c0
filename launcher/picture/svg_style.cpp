// SPDX-License-Identifier: Apache-2.0
#include "launcher/picture/svg_style.hpp"

namespace train {

const std::string_view svg_style = R"svg(<style>
.train-plan { --page: #ffffff; --card: #f6f8fb; --line: #d5dce6; --ink: #17202c; --dim: #5a6778;
  --used: #a8cbfb; --used-line: #4d8be0; --free: #ffffff; --free-line: #b9c4d2;
  --held: #ffd98a; --held-line: #c98d12; --out: #e7ebf0; --out-line: #aab5c3; --first: #1450ae; }
@media (prefers-color-scheme: dark) {
.train-plan { --page: #10151c; --card: #18202a; --line: #2c3846; --ink: #e8eef6; --dim: #9aa8ba;
  --used: #1f549e; --used-line: #5a9bf0; --free: #10151c; --free-line: #465466;
  --held: #7a5710; --held-line: #d9a440; --out: #232d39; --out-line: #3d4a5a; --first: #b5d4ff; } }
.train-plan text { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
  font-size: 13px; fill: var(--ink); white-space: pre; }
.train-plan .title { font-size: 18px; font-weight: bold; }
.train-plan .host { font-weight: bold; }
.train-plan .small, .train-plan .remark { font-size: 12px; fill: var(--dim); }
.train-plan .page { fill: var(--page); }
.train-plan .card, .train-plan .behind { fill: var(--card); stroke: var(--line); }
.train-plan .used { fill: var(--used); stroke: var(--used-line); }
.train-plan .free { fill: var(--free); stroke: var(--free-line); stroke-dasharray: 3 2; }
.train-plan .held { fill: var(--held); stroke: var(--held-line); }
.train-plan .excluded { fill: var(--out); stroke: var(--out-line); }
.train-plan .part { fill: var(--free); }
.train-plan .share { fill: var(--used); }
.train-plan .other { fill: var(--held); }
.train-plan .hatch { fill: url(#train-plan-hatch); pointer-events: none; }
.train-plan .hatch-line { stroke: var(--out-line); stroke-width: 1; }
.train-plan .idle { fill: var(--dim); font-weight: normal; }
.train-plan .accent { fill: var(--used-line); }
.train-plan .first-key { stroke: var(--first); stroke-width: 2; }
.train-plan .first { fill: none; stroke: var(--first); stroke-width: 2; pointer-events: none; }
</style>
<defs><pattern id="train-plan-hatch" width="6" height="6" patternUnits="userSpaceOnUse"
patternTransform="rotate(45)"><path class="hatch-line" d="M 0 0 V 6"/></pattern></defs>
)svg";

}  // namespace train
