# SPDX-License-Identifier: Apache-2.0
# gnuplot -e "folder = 'build/bench'" bench/plots.gp: draws the plots from the files NAME.dat and
# NAME.gp that bench/report wrote into the folder. A plot without data is not drawn.
set terminal svg size 1100,600 font 'sans-serif,13' background 'white'
set style fill solid 1.0 noborder
set key autotitle columnhead noenhanced
set tics noenhanced
set grid ytics
set border 3
set tics nomirror
colour(i) = word(colours, i + 1)

# The first page: few bars, each with its figure.
load folder . '/pages.gp'
set key noautotitle off
set rmargin 10
set bmargin 8
set xtics rotate by -25
set yrange [0:*]
do for [page in pages] {
    load folder . '/' . page . '.gp'
    if (bars > 0) {
        set terminal svg size 900,420 font 'sans-serif,14' background 'white'
        set output folder . '/' . page . '.svg'
        set xrange [-0.6:bars - 0.4]
        plot folder . '/' . page . '.dat' using 1:2:(0.7):3 with boxes lc rgb variable, \
             '' using 1:2:4 with labels offset 0,0.7
    }
}
set terminal svg size 1100,600 font 'sans-serif,13' background 'white'
set key on autotitle columnhead

# Bars show the median, whiskers the lowest and highest repetition. The axis is logarithmic.
set logscale y
set format y '%.0f'
set yrange [1:*]
set key outside top center horizontal maxrows 2
set xtics rotate by -40
set lmargin 12
set rmargin 12
set bmargin 11

load folder . '/throughput.gp'
set title 'acquire and release, uncontended (whiskers: lowest and highest repetition)'
set ylabel 'per second (logarithmic)'
if (blocks > 0) {
    set output folder . '/throughput.svg'
    plot for [i = 0:blocks - 1] folder . '/throughput.dat' index i using 1:2:(width) with boxes lc rgb colour(i), \
         for [i = 0:blocks - 1] '' index i using 1:3:(0):($4 - $3) with vectors nohead lw 2 lc rgb '#202020' notitle
}

load folder . '/contended.gp'
set title 'one name that all want (whiskers: lowest and highest repetition)'
set ylabel 'grants per second (logarithmic)'
if (blocks > 0) {
    set output folder . '/contended.svg'
    plot for [i = 0:blocks - 1] folder . '/contended.dat' index i using 1:2:(width) with boxes lc rgb colour(i), \
         for [i = 0:blocks - 1] '' index i using 1:3:(0):($4 - $3) with vectors nohead lw 2 lc rgb '#202020' notitle
}

# Lines show the distribution.
load folder . '/handover.gp'
set xrange [*:*]
unset logscale y
set logscale x
set format y '%.0f %%'
set format x '%g'
set grid xtics ytics
set title 'hand-over of one name among 8 clients: how many were that fast'
set xlabel 'ms from the release to the next holder (logarithmic)'
unset ylabel
set yrange [0:100]
set xtics norotate auto
set lmargin 9
set rmargin 34
set bmargin 4
set key outside right center vertical maxrows 30
if (blocks > 0) {
    set output folder . '/handover.svg'
    plot for [i = 0:blocks - 1] folder . '/handover.dat' index i using 1:2 \
        with lines lw 2 dt value('dash_' . i) lc rgb colour(i)
}
