# suite_classes.awk GRAPH.csv STREAM.csv BEYOND.csv: the classes of the public suite, as what `tune bench --format csv` found
# on it in captured graphs, one by one, and of configs/suites/beyond.txt. The columns read stand before any that is quoted.
BEGIN { FS = ","; OFS = "" }

FNR == 1 {
    file++
    for (i = 1; i <= NF; i++) column[$i] = i
    next
}

{
    problem = $column["problem"]
    sub(/^sgemm:nn:/, "", problem)
    if (file == 1) suite[++count] = problem
    ratio[file, problem] = $column["ratio"]
    time[file, problem] = $column["time_us"]
    lt[file, problem] = $column["lt_ratio"]
}

# Geometric mean of values of the space-separated problems; 0 if one is missing.
function mean(values, f, problems,    list, n, i, sum) {
    n = split(problems, list, " ")
    for (i = 1; i <= n; i++) {
        if (values[f, list[i]] <= 0) return 0
        sum += log(values[f, list[i]])
    }
    return n ? exp(sum / n) : 0
}

function shown(value) {
    return value > 0 ? sprintf("%.3f", value) : "-"
}

function line(name, value, aim, single) {
    said = (value <= 0) ? "not measured" : (value >= aim) ? "met" : sprintf("%.1f %% short", 100 * (1 - value / aim))
    print "| ", name, " | ", shown(value), " | ≥ ", sprintf("%.2f", aim), " | ", said, " | ", single, " |"
}

function both(name, problems, aim) {
    line(name, mean(ratio, 1, problems), aim, shown(mean(ratio, 2, problems)))
}

END {
    for (i = 1; i <= count; i++) {
        all = all " " suite[i]
        if (!least || (ratio[1, suite[i]] < ratio[1, least])) least = suite[i]
    }
    print "| class | x cuBLAS | aim | | launched one by one |"
    print "|---|---|---|---|---|"
    both("public suite, geometric mean of " count, all, 1.35)
    both("any single problem (least: " least ")", least, 1)
    both("4096x4096x4096", "4096x4096x4096", 1.03)
    both("8192x8192x8192", "8192x8192x8192", 1.06)
    n = split("4x5124x2560 8x6144x4096 16x1760x1760 16x4096x7168", few, " ")
    for (i = 1; i <= n; i++) both(few[i], few[i], 2)
    both("256³, 512³, 700x35x2048, 333x777x555, geometric mean", "256x256x256 512x512x512 700x35x2048 333x777x555", 1.4)
    both("the six im2col shapes, geometric mean", \
        "32x1605632x27 64x1605632x147 64x559104x147 384x14161x1152 256x43264x1152 256x50176x1024", 1.25)
    ratio[1, "16x16x1000000"] = ratio[3, "16x16x1000000"]
    line("large K, small C (three of the suite, and 16x16x1000000), geometric mean", \
        mean(ratio, 1, "64x64x65536 128x128x262144 512x512x32768 16x16x1000000"), 1.5, "")
    n = split("1023x1025x1027 4095x4097x4093 1000x1000x1000", ragged, " ")
    for (i = 1; i <= n; i++) both(ragged[i], ragged[i], 1.05)
    line("against the best of cublasLt, geometric mean", mean(lt, 1, all), 1.27, "")

    n = split("nt tn tt", ops, " ")
    m = split("4096x4096x4096 1000x1000x1000 8x6144x4096", shapes, " ")
    for (i = 1; i <= n; i++)
        for (j = 1; j <= m; j++) {
            own = time[3, "sgemm:" ops[i] ":" shapes[j]]
            if (own <= 0 || time[1, shapes[j]] <= 0) missing = 1
            else if (own / time[1, shapes[j]] > worst) worst = own / time[1, shapes[j]]
        }
    said = missing ? "not measured" : (worst <= 1.1) ? "met" : "missed"
    print "| nt, tn, tt of 4096³, 1000³, 8x6144x4096: time over nn's, at most | ", \
        worst ? sprintf("%.2f", worst) : "-", " | ≤ 1.10 | ", said, " | |"
}
