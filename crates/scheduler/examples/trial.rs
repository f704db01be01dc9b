use scheduler::{policy::Kind, replay::inflate::inflate, trace::*};
fn main() {
    let dir = "/work/shared/traces/openb/";
    let stock = openb::nodes("n", &std::fs::read(format!("{dir}openb_node_list_gpu_node.csv")).unwrap()).unwrap();
    let args: Vec<String> = std::env::args().skip(1).collect();
    for f in ["default", "cpu250", "gpushare100", "gpuspec33", "multigpu50"] {
        let o = ReadOptions { bad_lines: BadLines::Refuse, times_wanted: false };
        let t = openb::jobs(f, &std::fs::read(format!("{dir}openb_pod_list_{f}.csv")).unwrap(), o).unwrap();
        let d = t.demands(&stock);
        print!("{f:12}");
        for (k, n) in Kind::ALL {
            if !args.is_empty() && !args.iter().any(|a| a == n) { continue }
            let s = std::time::Instant::now();
            let mean: f64 = (0..10).map(|seed| inflate(&stock, &d, 1.3, k, seed).allocated_percent_at_full).sum::<f64>() / 10.0;
            print!(" {n} {mean:.2} ({:.2}s)", s.elapsed().as_secs_f64() / 10.0);
        }
        println!();
    }
}
