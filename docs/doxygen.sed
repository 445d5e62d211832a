# What Doxygen reads in place of a .md file: the pages are written for GitHub, which folds hints and links to files.
s#</\{0,1\}details>##g
s#<summary>\(.*\)</summary>#**\1**#
# Links to headings and to files that are no pages of the site become plain text.
s#\[\([^]]*\)\](\#[^)]*)#\1#g
s#\[\([^]]*\)\]([^):]*\.\(h\|c\|cu\|py\|txt\|csv\|json\|mutant\|cmake\))#\1#g
s#\[\([^]]*\)\]([^):]*/)#\1#g
s#\[\([^]]*\)\](LICENSE)#\1#g
s#\(\](.[^):]*\.md\)\#[^)]*)#\1)#g
