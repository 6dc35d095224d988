// What tests/cli/probe_debug.t probes: parameters of several types, a structure, a method, a generic function, a loop with locals.
struct Part {
    a: i32,
    l: i64,
    next: Option<Box<Part>>,
}

impl Part {
    #[inline(never)]
    fn grow(&mut self, by: i32) -> i32 {
        self.a += by;
        self.a
    }
}

#[inline(never)]
fn work(n: i32, part: &mut Part, wide: u64) -> i64 {
    let mut sum: i64 = part.l;
    for i in 0..n {
        sum += i as i64 * wide as i64;
    }
    sum + part.grow(n) as i64
}

#[inline(never)]
fn twice<T: std::ops::Add<Output = T> + Copy>(x: T) -> T {
    x + x
}

fn main() {
    let mut part = Part { a: 11, l: 1000, next: Some(Box::new(Part { a: -5, l: 0, next: None })) };
    let r = work(3, &mut part, 7);
    let t = twice(21i32);
    println!("{} {} {}", r, t, part.next.map_or(0, |p| p.a));
}
