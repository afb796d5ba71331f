# SPDX-License-Identifier: Apache-2.0
# gnuplot -e "folder = 'build/bench'" bench/plots.gp: the plots of what bench/report wrote there.
set terminal svg size 1000,560 font 'sans-serif,12' background 'white'
set datafile missing '?'
set grid ytics
set logscale y

# Bars: the median; whiskers: the lowest and highest repetition.
set style data histograms
set style histogram errorbars gap 2 lw 1
set style fill solid 0.7 border -1
set xtics rotate by -35 noenhanced
set bmargin 9
set yrange [1:*]
set key top left

set title 'acquire and release, nobody in the way'
set ylabel 'per second'
set output folder . '/throughput.svg'
plot folder . '/throughput.dat' using 2:3:4:xtic(1) title '1 client', \
     '' using 5:6:7 title '8 clients', '' using 8:9:10 title '32 clients'

set title 'one hot name'
set ylabel 'grants per second'
set output folder . '/contended.svg'
plot folder . '/contended.dat' using 2:3:4:xtic(1) title '8 clients', \
     '' using 5:6:7 title 'a crowd that waits, each once'

set title 'hand-over, 8 clients: so many percent are that fast'
set xlabel 'percent'
set ylabel 'ms'
set yrange [*:*]
set xtics norotate
set bmargin 4
set key outside right noenhanced
set style data lines
set output folder . '/handover.svg'
plot for [i = 0:*] folder . '/handover.dat' index i using 1:2 \
    with lines lw 2 lt i % 8 + 1 dt i / 8 + 1 title columnheader(1)
