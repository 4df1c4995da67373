//! What many measurements of one thing say.

/// The value in the middle; of two in the middle, their mean. Of nothing: not a number.
pub(super) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// Half the distance between the quartiles in percent of the median: half of the values lie within
/// about this much of it. Fewer than four values say nothing of the kind.
pub(super) fn noise_percent(values: &[f64]) -> Option<f64> {
    let half_range = (quantile(values, 0.75) - quantile(values, 0.25)) / 2.0;
    (values.len() >= 4).then(|| 100.0 * half_range / median(values))
}

/// The value that a share `q` of the values lie below, interpolated between two of them.
fn quantile(values: &[f64], q: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = q * last as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_value_in_the_middle() {
        assert_eq!(median(&[3.0]), 3.0);
        assert_eq!(median(&[9.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.5);
        assert!(median(&[]).is_nan());
    }

    #[test]
    fn one_outlier_moves_neither_median_nor_noise() {
        let quiet = [10.0; 9];
        let mut disturbed = quiet;
        disturbed[4] = 1000.0;
        assert_eq!(median(&disturbed), median(&quiet));
        assert_eq!(noise_percent(&disturbed), Some(0.0));
    }

    #[test]
    fn noise_is_half_the_interquartile_range() {
        assert_eq!(noise_percent(&[80.0, 90.0, 100.0, 110.0, 120.0]), Some(10.0));
        assert_eq!(noise_percent(&[1.0, 2.0, 3.0]), None);
    }
}
