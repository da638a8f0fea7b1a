import Foundation

/// The functions that a log-normal distribution needs.
enum NormalDistribution {
    static func logarithm(_ value: Double) -> Double { log(value) }
    static func exponential(_ value: Double) -> Double { exp(value) }

    /// The quantile of the standard normal distribution, by Acklam's rational approximation. Its relative error is
    /// below 1.15e-9.
    /// - Parameter part: the probability, above 0 and below 1. The nearest allowed value replaces any other.
    static func quantile(_ part: Double) -> Double {
        let part = min(max(part, 1e-9), 1 - 1e-9)
        let low = 0.02425
        if part < low { return tail(sqrt(-2 * log(part))) }
        if part > 1 - low { return -tail(sqrt(-2 * log(1 - part))) }
        let q = part - 0.5
        let r = q * q
        let numerator = polynomial(
            r,
            [
                -3.969683028665376e+01, 2.209460984245205e+02, -2.759285104469687e+02, 1.383577518672690e+02,
                -3.066479806614716e+01, 2.506628277459239e+00,
            ])
        let denominator = polynomial(
            r,
            [
                -5.447609879822406e+01, 1.615858368580409e+02, -1.556989798598866e+02, 6.680131188771972e+01,
                -1.328068155288572e+01, 1,
            ])
        return numerator * q / denominator
    }

    private static func tail(_ q: Double) -> Double {
        let numerator = polynomial(
            q,
            [
                -7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00, -2.549732539343734e+00,
                4.374664141464968e+00, 2.938163982698783e+00,
            ])
        let denominator = polynomial(
            q, [7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00, 3.754408661907416e+00, 1])
        return numerator / denominator
    }

    private static func polynomial(_ value: Double, _ coefficients: [Double]) -> Double {
        coefficients.reduce(0) { $0 * value + $1 }
    }
}
