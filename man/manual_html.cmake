# SPDX-License-Identifier: Apache-2.0
# Makes the manual as HTML: a file for each page, their style, and index.html.
#   cmake -D OUT=folder -P manual_html.cmake
find_program(mandoc mandoc)
if(NOT mandoc)
  message(FATAL_ERROR "mandoc makes the manual as HTML, and is not there: apt install mandoc")
endif()
file(GLOB pages "${CMAKE_CURRENT_LIST_DIR}/*.[157]")
file(REMOVE_RECURSE "${OUT}")
file(COPY "${CMAKE_CURRENT_LIST_DIR}/manual.css" DESTINATION "${OUT}")
foreach(page IN LISTS pages)
  get_filename_component(name "${page}" NAME)
  # A page is one of these if its source is in the working directory, else Debian's.
  execute_process(
    COMMAND "${mandoc}" -Thtml
      -O "style=manual.css,man=%N.%S.html;https://manpages.debian.org/%N.%S,toc" "${page}"
    WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}" OUTPUT_FILE "${OUT}/${name}.html" COMMAND_ERROR_IS_FATAL ANY)
  file(READ "${OUT}/${name}.html" text)
  string(REPLACE "<body>" "<body>\n<p><a href=\"index.html\">The manual of train</a></p>" text "${text}")
  file(WRITE "${OUT}/${name}.html" "${text}")
  file(STRINGS "${page}" description REGEX "^\\.Nd " LIMIT_COUNT 1)
  string(SUBSTRING "${description}" 4 -1 description)
  string(REGEX MATCH "[157]$" section "${name}")
  string(REGEX REPLACE "\\.[157]$" "" title "${name}")
  string(APPEND rows_${section}
    "<dt><a href=\"${name}.html\">${title}(${section})</a></dt><dd>${description}</dd>\n")
endforeach()
file(WRITE "${OUT}/index.html" "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1.0\">
<link rel=\"stylesheet\" href=\"manual.css\">
<title>The manual of train</title>
</head>
<body>
<h1>The manual of train</h1>
<p>Start with <a href=\"train.1.html\">train(1)</a>.</p>
<h2>Commands</h2>
<dl>
${rows_1}</dl>
<h2>Files</h2>
<dl>
${rows_5}</dl>
<h2>Topics</h2>
<dl>
${rows_7}</dl>
</body>
</html>
")
