"""Statistics of the figures: quantiles, geometric means, percentages."""
import math


def quantile(values, q):
    """By linear interpolation (Hyndman & Fan 1996, type 7), as tuner/base/stats.h; infinite values are larger than all."""
    ordered = sorted(values)
    place = q * (len(ordered) - 1)
    low, high, share = ordered[math.floor(place)], ordered[math.ceil(place)], place - math.floor(place)
    return low if share == 0 or low == high else low + (high - low) * share


def median(values):
    return quantile(values, 0.5)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def percent(share):
    return f"{100 * share:.2f} %"
