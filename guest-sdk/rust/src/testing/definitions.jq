# What rote has beyond jq: aggregates over arrays, case.
def sum: add;
def sum(f): reduce f as $x (null; . + $x);
def avg: if length == 0 then null else add / length end;
def avg(f): [f] | avg;

# jq builtins that jaq lacks, or that accept more in jq.
def ltrimstr($x): if isstring and ($x | isstring) then _ltrimstr($x) end;
def rtrimstr($x): if isstring and ($x | isstring) then _rtrimstr($x) end;
def trimstr($x): ltrimstr($x) | rtrimstr($x);
def implode: if isarray then _implode else error("implode input must be an array") end;
def toarray: if isarray then . else [.] end;
def leaf_paths: paths(scalars);
def from_entries: reduce .[] as $x ({};
    . + { ($x | if isobject then (if has("key") then .key elif has("k") then .k elif has("name") then .name
                                  elif has("Name") then .Name elif has("Key") then .Key elif has("K") then .K
                                  else null end)
          else .[0] end
          | if isstring then . elif . == null then "null" else tojson end):
        ($x | if isobject then (if has("value") then .value elif has("v") then .v elif has("Value") then .Value
                                else .V end)
         else .[1] end) });
def with_entries(f): to_entries | map(f) | from_entries;
def tostring: if isstring then . else tojson end;
def join($s): if length == 0 then "" else
    reduce .[1:][] as $x (.[0] | if . == null then "" else tostring end;
      . + $s + ($x | if . == null then "" else tostring end)) end;
def ascii: [.] | implode;
def date: todate;
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; f): reduce stream as $row ({}; .[$row | f | tostring] = $row);
def INDEX(f): INDEX(.[]; f);

# Paths into what is not there yet, and deletion that keeps the order of keys.
def setpath($path; $value):
  def put($p): if ($p | length) == 0 then $value else $p[0] as $k
    | if $k | isnumber then
        if . == null then [] end | (.[$k] | put($p[1:])) as $v | length as $n
        | if $k < $n then .[$k] = $v else . + [range($k - $n) | null] + [$v] end
      else
        if . == null then {} end | (.[$k] | put($p[1:])) as $v | .[$k] = $v
      end end;
  put($path);
def _delete($p): if ($p | length) == 0 then null else $p[0] as $k
  | if . == null then .
    elif ($p | length) > 1 then
      if .[$k] == null then . else (.[$k] | _delete($p[1:])) as $v | .[$k] = $v end
    elif isobject then with_entries(select(.key != $k))
    elif ($k | isnumber) and ($k >= length or $k < -length) then .
    else .[$k] |= empty end end;
def delpaths($paths): reduce ($paths | unique | reverse[]) as $p (.; _delete($p));
def del(f): delpaths([path(f)]);

# Streams.
def tostream: path(def r: (.[]? | r), .; r) as $p | getpath($p)
    | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
def fromstream(f): { x: null, e: false } as $init
    | foreach f as $i ($init;
        if .e then $init end
        | if $i | length == 2
          then setpath(["e"]; $i[0] | length == 0) | setpath(["x"] + $i[0]; $i[1])
          else setpath(["e"]; $i[0] | length == 1) end;
        if .e then .x else empty end);
def truncate_stream(stream): . as $n | null | stream | . as $input
    | if (.[0] | length) > $n then setpath([0]; .[0][$n:]) else empty end;
def have_literal_numbers: true;
def have_decnum: true;

# Formats.
def @csv: [.[] | if isnumber or isboolean then tostring elif . == null then ""
                 elif isstring then "\"" + (split("\"") | join("\"\"")) + "\""
                 else error("\(type) is not valid in a csv row") end] | join(",");
def @tsv: [.[] | if isnumber or isboolean then tostring elif . == null then ""
                 elif isstring then split("\\") | join("\\\\") | split("\t") | join("\\t")
                                  | split("\n") | join("\\n") | split("\r") | join("\\r")
                 else error("\(type) is not valid in a tsv row") end] | join("\t");
def @json: tojson;
def @text: tostring;
