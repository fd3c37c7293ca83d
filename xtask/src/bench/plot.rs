//! Plots the curves of growth.

use plotters::prelude::*;

use super::growth::Curve;

/// Time against size, both logarithmic: proportional growth is a line with the slope of the dotted
/// one.
pub(super) fn svg(curves: &[Curve]) -> Result<String, String> {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let bounds = |of: &dyn Fn(&(usize, super::Measured)) -> f64| {
        let values = points().map(of);
        values.fold((f64::INFINITY, 0.0f64), |(least, most), value| (least.min(value), most.max(value)))
    };
    let (sizes, times) = (bounds(&|point| point.0 as f64), bounds(&|point| point.1.cpu));
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (800, 500)).into_drawing_area();
        let draw = || -> Result<(), Box<dyn std::error::Error + '_>> {
            root.fill(&WHITE)?;
            let mut chart = ChartBuilder::on(&root)
                .margin(15)
                .x_label_area_size(45)
                .y_label_area_size(70)
                .build_cartesian_2d(
                    (sizes.0..sizes.1).log_scale(),
                    (times.0 / 2.0..times.1 * 2.0).log_scale(),
                )?;
            let label = |value: &f64| {
                if *value >= 1.0 { format!("{value} s") } else { format!("{} ms", value * 1000.0) }
            };
            chart
                .configure_mesh()
                .x_desc("PTX instructions")
                .y_desc("CPU time")
                .x_label_formatter(&|value| format!("{value}"))
                .y_label_formatter(&label)
                .draw()?;
            let proportional = [sizes.0, sizes.1].map(|size| (size, times.1 * size / sizes.1));
            chart
                .draw_series(DashedLineSeries::new(proportional, 3, 5, BLACK.stroke_width(1)))?
                .label("proportional")
                .legend(|(x, y)| PathElement::new([(x, y), (x + 20, y)], BLACK));
            for (number, curve) in curves.iter().enumerate() {
                let color = Palette99::pick(number).to_rgba();
                let line = curve.points.iter().map(|(size, took)| (*size as f64, took.cpu));
                chart
                    .draw_series(LineSeries::new(line, color.stroke_width(2)).point_size(3))?
                    .label(curve.shape)
                    .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], color.stroke_width(2)));
            }
            let labels = &mut chart.configure_series_labels();
            labels
                .position(SeriesLabelPosition::UpperLeft)
                .background_style(WHITE)
                .border_style(BLACK)
                .draw()?;
            root.present()?;
            Ok(())
        };
        draw().map_err(|error| error.to_string())?;
    }
    Ok(text)
}
